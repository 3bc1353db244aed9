"""Finds out what a path does to fast open, and whether the path or a host is to blame."""
