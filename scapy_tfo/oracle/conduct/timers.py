"""Rules on what is sent again: RFC 6298 section 5, RFC 9293 section 3.8."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held
from scapy_tfo.segment import RST

_REAL = 0.2
"""Seconds between two copies, from which on a timer sent the second, and no path made it."""
_LARGE = 16.0
"""Seconds from which on a timer may be at its limit, which is a minute at least."""
_GROWTH = 1.5
"""Of four, as two steps should have it: what is lost on the way makes gaps longer."""


def backs_off(history: History, came: Came) -> Judged:
    """The time to the next copy doubles (RFC 6298 5.5)."""
    if came.flags & RST or not came.length or came.seq is None or history.repeats is None:
        return False
    if history.repeats[0] != came.seq:
        return False
    gaps = [*history.gaps, came.at - history.repeats[1]][-3:]
    if len(gaps) < 3 or min(gaps) < _REAL or gaps[0] > _LARGE:
        return False
    told = ", ".join(f"{each:.2f}" for each in gaps)
    return held(gaps[2] >= _GROWTH * gaps[0], "gaps that double", f"{told} s between its copies")


RULES = (Rule("no-backoff", backs_off, complete=True, numbers=True),)
