"""Runs scripts against this machine's kernel."""
