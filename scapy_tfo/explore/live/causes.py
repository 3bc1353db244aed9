"""Groups what went wrong by its cause: the rule, and what befell the conversation."""

from __future__ import annotations

from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule

_INCOMPLETE = (
    *("client-failed", "server-failed", "never-accepted", "text-missing", "answer-missing"),
    *("text-without-end", "answer-without-end", "server-never-done", "client-never-done"),
)
"""Which of these shows first depends on what the applications were about to do."""

_OF_MANY = ("iss-constant", "iss-of-the-peer", "iss-on-a-line", "iss-repeats")
"""These show in what several connections have, whatever befell the last of them."""


def cause_of(problem: Problem, schedule: Schedule) -> str:
    """One line that findings of one cause have in common: `does-not-end, rst-before`."""
    rule = "does-not-end" if problem.rule in _INCOMPLETE else problem.rule
    if schedule.wrong is None or rule in _OF_MANY:
        return rule
    return f"{rule}, {schedule.wrong.kind}"


def without_wrong(cause: str) -> str:
    """The cause of what goes wrong alike without the wrong segment."""
    return cause.partition(", ")[0]
