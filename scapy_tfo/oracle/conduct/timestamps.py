"""Rules on timestamps: RFC 7323 sections 3.2, 4 and 5."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held
from scapy_tfo.segment import ACK, RST, SYN
from scapy_tfo.seq import before, distance

_LONGEST_TICK = 2.0
"""Seconds: twice the longest that RFC 7323 section 5.4 allows."""
_TICKS, _SLACK = 17_000_000, 1.0
"""In a second, one each 59 ns; and seconds by which two clocks may differ."""


def times_missing(history: History, came: Came) -> Judged:
    """Once agreed, every segment but a RST has them (section 3.2)."""
    if not history.times_agreed or came.flags & (SYN | RST):
        return False
    return held(came.times is not None, "timestamps, as agreed", "none")


def times_not_agreed(history: History, came: Came) -> Judged:
    """Without agreement no segment has them (section 3.2)."""
    if history.times_agreed or history.answer is None or came.flags & (SYN | RST):
        return False
    return held(came.times is None, "no timestamps: not agreed on", "some")


def echo_of_nothing(history: History, came: Came) -> Judged:
    """TSecr is a TSval that was sent (section 3.2)."""
    if came.times is None or came.flags & (SYN | RST) or not came.flags & ACK:
        return False
    if not history.times_agreed:
        return False
    return held(
        came.times[1] in history.tsvals, "TSecr of a TSval that was sent", f"{came.times[1]}"
    )


def clock_goes_back(history: History, came: Came) -> Judged:
    """TSval never decreases (section 5.4); judged by text that was never there before, and by all
    where the order is sure."""
    best = history.best
    if best is None or best.times is None or came.times is None or came.flags & RST:
        return False
    is_new = came.seq is not None and bool(came.length) and came.seq >= history.theirs.end
    if not is_new and not history.ordered:
        return False
    older = before(came.times[0], best.times[0])
    return held(not older, f"TSval {best.times[0]} or later", f"{came.times[0]}")


def _since(history: History, came: Came) -> tuple[float, int] | None:
    """Seconds and ticks since the last segment, behind the handshake."""
    best = history.best
    if best is None or best.times is None or came.times is None:
        return None
    if (came.flags | best.flags) & (SYN | RST) or not history.is_newer(came):
        return None
    return came.at - best.at, distance(best.times[0], came.times[0])


def clock_stands(history: History, came: Came) -> Judged:
    """A tick takes a second at most (section 5.4)."""
    since = _since(history, came)
    if since is None or since[0] <= _LONGEST_TICK + history.grace:
        return False
    return held(since[1] != 0, f"a tick in {since[0]:.1f} s", "the same TSval")


def clock_races(history: History, came: Came) -> Judged:
    """A tick takes 59 nanoseconds at least (section 5.4), so that segments outlive no wrap."""
    since = _since(history, came)
    if since is None:
        return False
    most = (max(since[0], 0.0) + _SLACK + history.grace) * _TICKS
    return held(since[1] <= most, f"{most:.0f} ticks at most", f"{since[1]}")


RULES = (
    Rule("times-missing", times_missing, complete=True, numbers=True, on="a"),
    Rule("times-not-agreed", times_not_agreed, complete=True, numbers=True, on="a"),
    Rule("echo-of-nothing", echo_of_nothing, complete=True, numbers=True, on="a", options=True),
    Rule("clock-goes-back", clock_goes_back, ordered=True, numbers=True, on="sa", options=True),
    Rule(
        "clock-stands",
        clock_stands,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        options=True,
    ),
    Rule(
        "clock-races", clock_races, complete=True, ordered=True, numbers=True, on="a", options=True
    ),
)
