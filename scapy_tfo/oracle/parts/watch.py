"""Counts how often each rule was judged by, was in force, and was broken."""

from __future__ import annotations


class Watch:
    """Counts by number. `rules.watched` makes of them how often each rule was in force.

    passes: times that each table of rules was applied. idle: times that a rule of it did not apply.
    due: times that what a rule on silence asks for was owed. broken: times that a rule was not
    kept.
    """

    __slots__ = ("broken", "due", "idle", "passes")

    def __init__(self, rules: int, tables: int) -> None:
        self.passes = [0] * tables
        self.idle = [0] * rules
        self.due = [0] * rules
        self.broken = [0] * rules

    def add(self, other: Watch) -> None:
        """Count what another one has counted, too."""
        for ours, theirs in (
            (self.passes, other.passes),
            (self.idle, other.idle),
            (self.due, other.due),
            (self.broken, other.broken),
        ):
            for number, count in enumerate(theirs):
                ours[number] += count
