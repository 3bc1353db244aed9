"""Runs campaigns: makes programs from seeds, sends them, and judges replies by the standard."""
