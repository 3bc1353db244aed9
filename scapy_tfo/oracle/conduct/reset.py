"""Rules on RST: RFC 9293 section 3.5.2, RFC 5961."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held
from scapy_tfo.segment import ACK, RST


def rst_to_nothing(history: History, came: Came) -> Judged:
    """A RST answers something."""
    if not came.flags & RST:
        return False
    return held(bool(history.last_sent), "silence: nothing was sent", came.segment)


def rst_to_rst(history: History, came: Came) -> Judged:
    """A RST is never answered with a RST (RFC 9293 section 3.5.2)."""
    if not came.flags & RST:
        return False
    only = bool(history.last_sent) and all(each.flags & RST for each in history.last_sent)
    return held(not only, "silence after a RST", came.segment)


def rst_number(history: History, came: Came) -> Judged:
    """Its number is what the peer acknowledged, or one of its own; without either it is 0, and it
    acknowledges what it rejects (RFC 9293 section 3.5.2)."""
    if not came.flags & RST or not history.last_sent:
        return False
    number = came.segment.seq
    if history.iss is None and history.isn is not None:
        # An application may abort before its SYN-ACK is out, or while that is lost.
        return False
    if number in history.acks:
        return True
    if came.seq is not None:
        inside = -1 <= came.seq <= max(history.theirs.end, history.limit or 0) + 1
        if inside:
            return True
    return held(number == 0, "a number that the peer knows", f"{number}")


def rst_acknowledges(history: History, came: Came) -> Judged:
    """RST of a closed port acknowledges all of the segment that it rejects."""
    if came.flags & (RST | ACK) != RST | ACK or came.segment.seq or history.iss is not None:
        return False
    return held(
        came.segment.ack in history.ends,
        "acknowledging the end of a segment",
        f"{came.segment.ack}",
    )


RULES = (
    Rule("rst-to-nothing", rst_to_nothing, complete=True, on="r"),
    Rule("rst-to-rst", rst_to_rst, complete=True, on="r"),
    Rule("rst-number", rst_number, complete=True, numbers=True, on="r"),
    Rule("rst-acknowledges", rst_acknowledges, complete=True, numbers=True, on="r"),
)
