"""Runs client scripts at a client that a command starts."""
