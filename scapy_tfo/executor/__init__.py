"""Runs fuzz programs at a target and lets the oracle judge the replies."""
