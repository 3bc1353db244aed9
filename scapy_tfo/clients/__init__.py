"""Judging a client: we are the servers that it connects to, and the path between."""
