"""Plays a script: its schedule, the packets received, the outcome."""
