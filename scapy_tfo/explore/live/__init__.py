"""Explores a target on the wire: the same schedules in real time, many side by side."""
