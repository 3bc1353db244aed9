"""Rules on timestamps: RFC 7323 sections 3.2, 4 and 5."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import AGREED_TIMES, EARLY, FILLED, TIMES
from scapy_tfo.oracle.conduct.rule import Breach, Judged, Rule
from scapy_tfo.segment import ACK, RST, SYN
from scapy_tfo.seq import before, distance

_LONGEST_TICK = 2.0
"""Seconds: twice the longest that RFC 7323 section 5.4 allows."""
_TICKS, _SLACK = 17_000_000, 1.0
"""In a second, one each 59 ns; and seconds by which two clocks may differ."""
_HALF_ROUND = (1 << 31) / _TICKS
"""Seconds after which the fastest clock may seem to go back: two minutes."""


def times_missing(history: History, came: Came) -> Judged:
    """Once agreed, every segment but a RST has them (section 3.2)."""
    if not history.times_agreed or history.times_unclear or came.flags & (SYN | RST):
        return False
    return came.times is not None or Breach("timestamps, as agreed", "none")


def times_not_agreed(history: History, came: Came) -> Judged:
    """Without agreement no segment has them (section 3.2)."""
    if history.times_agreed or history.times_unclear or came.flags & (SYN | RST):
        return False
    if history.answer is None:
        return False
    return came.times is None or Breach("no timestamps: not agreed on", "some")


def echo_of_nothing(history: History, came: Came) -> Judged:
    """TSecr is a TSval that was sent (section 3.2)."""
    if came.times is None or came.flags & (SYN | RST) or not came.flags & ACK:
        return False
    if not history.times_agreed or history.times_unclear:
        return False
    return came.times[1] in history.tsvals or Breach(
        "TSecr of a TSval that was sent", f"{came.times[1]}"
    )


def clock_goes_back(history: History, came: Came) -> Judged:
    """TSval never decreases (section 5.4); judged by text that was never there before, and by all
    where the order is sure."""
    best = history.best
    if best is None or best.times is None or came.times is None or came.flags & RST:
        return False
    if came.at - best.at > _HALF_ROUND:
        return False
    is_new = came.seq is not None and bool(came.length) and came.seq >= history.theirs.end
    if not is_new and not history.ordered:
        return False
    older = before(came.times[0], best.times[0])
    return not older or Breach(f"TSval {best.times[0]} or later", f"{came.times[0]}")


def _since(history: History, came: Came) -> tuple[float, int] | None:
    """Seconds and ticks since the last segment, or between two SYN-ACKs."""
    best = history.best
    if best is None or best.times is None or came.times is None:
        return None
    # Neither a SYN-ACK with what is sent later, for its clock may be another (RFC 7323 5.4).
    unlike = (came.flags ^ best.flags) & SYN or (came.flags | best.flags) & RST
    if unlike or not history.is_newer(came):
        return None
    return came.at - best.at, distance(best.times[0], came.times[0])


def clock_stands(history: History, came: Came) -> Judged:
    """A tick takes a second at most (section 5.4)."""
    since = _since(history, came)
    if since is None or since[0] <= _LONGEST_TICK + history.grace:
        return False
    return since[1] != 0 or Breach(f"a tick in {since[0]:.1f} s", "the same TSval")


def clock_races(history: History, came: Came) -> Judged:
    """A tick takes 59 nanoseconds at least (section 5.4), so that segments outlive no wrap."""
    since = _since(history, came)
    if since is None:
        return False
    most = (max(since[0], 0.0) + _SLACK + history.grace) * _TICKS
    return since[1] <= most or Breach(f"{most:.0f} ticks at most", f"{since[1]}")


def echoes_early_text(history: History, came: Came) -> Judged:
    """Text out of its turn is not echoed (section 4.3)."""
    if (
        not history.peer.orderly
        or not history.peer.stamps.early
        or came.times is None
        or came.flags & (SYN | RST)
    ):
        return False
    if came.ack is None or came.ack > history.binding.next:
        return False
    early = came.times[1] in history.peer.stamps.early
    return not early or Breach("no TSval of text behind a gap", f"TSecr {came.times[1]}")


def echoes_before_the_gap(history: History, came: Came) -> Judged:
    """The ACK of a gap that was filled echoes what filled it, or something later (section 4.3)."""
    filled = history.peer.stamps.filled
    if not history.peer.orderly or filled is None or came.times is None or came.flags & (SYN | RST):
        return False
    if came.ack is None or came.ack < filled[0]:
        return False
    older = before(came.times[1], filled[1])
    return not older or Breach(f"TSecr {filled[1]} or later", f"{came.times[1]}")


RULES: tuple[Rule, ...] = (
    Rule(
        "early-text-echoed",
        echoes_early_text,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=EARLY,
    ),
    Rule(
        "gap-not-echoed",
        echoes_before_the_gap,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=FILLED,
    ),
    Rule("times-missing", times_missing, complete=True, numbers=True, on="a", needs=AGREED_TIMES),
    Rule("times-not-agreed", times_not_agreed, complete=True, numbers=True, on="a"),
    Rule(
        "echo-of-nothing",
        echo_of_nothing,
        complete=True,
        numbers=True,
        on="a",
        options=True,
        needs=TIMES,
    ),
    Rule(
        "clock-goes-back",
        clock_goes_back,
        ordered=True,
        numbers=True,
        on="sa",
        options=True,
        needs=TIMES,
    ),
    Rule(
        "clock-stands",
        clock_stands,
        complete=True,
        ordered=True,
        numbers=True,
        on="sa",
        options=True,
        needs=TIMES,
    ),
    Rule(
        "clock-races",
        clock_races,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        options=True,
        needs=TIMES,
    ),
)
