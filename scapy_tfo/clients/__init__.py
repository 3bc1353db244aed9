"""Judges a client: plays the servers that it connects to, and the path between."""
