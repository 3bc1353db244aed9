"""Rules on what is sent again: RFC 6298 section 5, RFC 9293 section 3.8."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Breach, Judged, Rule, held
from scapy_tfo.segment import RST, SYN

_REAL = 0.2
"""Seconds between two copies, from which on a timer sent the second, and no path made it."""
_LARGE = 16.0
"""Seconds from which on a timer may be at its limit, which is a minute at least."""
_GROWTH = 1.5
"""Of four, as two steps should have it: what is lost on the way makes gaps longer."""
_FIRST = 0.5
"""Seconds to the first copy of a SYN-ACK: half of what is asked for, as the first one may come late
to a busy host."""


def _gaps(history: History, came: Came) -> list[float]:
    """Seconds between the copies of a segment, this one's last, while its peer said nothing."""
    if came.flags & RST or not came.length or history.repeats is None:
        return []
    if history.repeats[0] != came.seq:
        return []
    gaps = [*history.gaps, came.at - history.repeats[1]]
    return gaps if history.is_timed(came.at - sum(gaps)) else []


def _backs_off(gaps: list[float]) -> Judged:
    last = gaps[-3:]
    if len(last) < 3 or min(last) < _REAL or last[0] > _LARGE:
        return False
    if last[2] >= _GROWTH * last[0]:
        return True
    told = ", ".join(f"{each:.2f}" for each in last)
    return Breach("gaps that double", f"{told} s between its copies")


def text_backs_off(history: History, came: Came) -> Judged:
    """The time to the next copy of text doubles (RFC 6298 5.5)."""
    return False if came.flags & SYN else _backs_off(_gaps(history, came))


def _by_timer(history: History, came: Came) -> list[float]:
    """The gaps of a SYN-ACK that answers no second SYN."""
    return _gaps(history, came) if came.flags & SYN and history.syns == 1 else []


def syn_ack_backs_off(history: History, came: Came) -> Judged:
    """So does that to the next SYN-ACK."""
    return _backs_off(_by_timer(history, came))


def syn_ack_waits(history: History, came: Came) -> Judged:
    """A SYN-ACK comes again after a second (RFC 6298 section 2.1)."""
    gaps = _by_timer(history, came)
    if not gaps or gaps[-1] < _REAL:
        return False
    return held(gaps[-1] >= _FIRST, "a second before it comes again", f"{gaps[-1]:.2f} s")


def first_comes_first(history: History, came: Came) -> Judged:
    """A timer sends the earliest text that is not acknowledged (RFC 6298 5.4)."""
    heard_at = history.heard_at
    if heard_at is None or came.at - heard_at <= _REAL or not history.is_timed(heard_at):
        return False
    if history.spoke_since or came.seq is None or not came.segment.payload:
        return False
    if came.flags & (SYN | RST) or came.seq + came.length >= history.theirs.end:
        # It may be a probe for a loss at the tail (RFC 8985 section 7.3).
        return False
    una = max(history.their_una, 1)
    return held(came.seq <= una, f"text at {una} first", f"at {came.seq}")


RULES = (
    Rule("no-backoff", text_backs_off, complete=True, numbers=True, on="a", text=True),
    Rule(
        "no-syn-ack-backoff", syn_ack_backs_off, complete=True, numbers=True, on="s", listens=True
    ),
    Rule(
        "syn-ack-too-soon",
        syn_ack_waits,
        complete=True,
        ordered=True,
        numbers=True,
        on="s",
        listens=True,
    ),
    Rule(
        "timer-skips-text",
        first_comes_first,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
    ),
)
