"""Counts how often each rule was judged by, was in force, and was broken."""

from __future__ import annotations


class Watch:
    """Three counts for each rule, by its number.

    considered: times that it was judged by. in_force: times that it applied, whether it was kept
    or not. broken: times that it was not kept. A rule that was never in force has shown nothing.
    """

    __slots__ = ("broken", "considered", "in_force")

    def __init__(self, rules: int) -> None:
        self.considered = [0] * rules
        self.in_force = [0] * rules
        self.broken = [0] * rules

    def add(self, other: Watch) -> None:
        """Count what another one has counted, too."""
        for ours, theirs in (
            (self.considered, other.considered),
            (self.in_force, other.in_force),
            (self.broken, other.broken),
        ):
            for number, count in enumerate(theirs):
                ours[number] += count
