"""Rules on timestamps: RFC 7323 sections 3.2, 4 and 5."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held
from scapy_tfo.segment import ACK, RST, SYN
from scapy_tfo.seq import before


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
    """TSval never decreases (section 5.4); judged by text that was never there before."""
    best = history.best
    if best is None or best.times is None or came.times is None or came.flags & RST:
        return False
    if came.seq is None or not came.length or came.seq < history.theirs.end:
        return False
    older = before(came.times[0], best.times[0])
    return held(not older, f"TSval {best.times[0]} or later", f"{came.times[0]}")


RULES = (
    Rule("times-missing", times_missing, complete=True, numbers=True, on="a"),
    Rule("times-not-agreed", times_not_agreed, complete=True, numbers=True, on="a"),
    Rule("echo-of-nothing", echo_of_nothing, complete=True, numbers=True, on="a", options=True),
    Rule(
        "clock-goes-back",
        clock_goes_back,
        ordered=True,
        numbers=True,
        on="sa",
        options=True,
        text=True,
    ),
)
