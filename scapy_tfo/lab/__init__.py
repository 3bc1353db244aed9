"""Targets of our own: their applications, their hooks, and what their applications saw."""
