"""Judges a target's replies by the states that it may be in, and by rules for its packets."""
