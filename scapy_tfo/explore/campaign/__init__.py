"""Runs an exploration: on several processors, within a time, with its results in files."""
