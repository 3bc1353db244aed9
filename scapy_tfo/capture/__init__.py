"""Reads and writes captures, their connections, and the comments on their packets."""
