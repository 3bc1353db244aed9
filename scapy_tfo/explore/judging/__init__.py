"""Judges a target by a corpus of schedules, in a run of cases."""
