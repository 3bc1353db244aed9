"""Compares captures of both ends of a path."""
