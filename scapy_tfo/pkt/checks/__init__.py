"""Checks of scripts that need no run, and scripts that are wrong on purpose."""
