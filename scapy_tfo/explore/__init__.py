"""Explores schedules: each fault and each wrong segment at each place, within bounds."""
