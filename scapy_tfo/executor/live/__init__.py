"""Runs fuzz programs at a target on the wire, many at a time."""
