"""Stores, changes and reduces fuzz programs, which are sequences of symbolic segments."""
