"""Rules on what is acknowledged, and on the window: RFC 9293 sections 3.4, 3.8.6 and 3.10.7."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held
from scapy_tfo.segment import ACK, RST, SYN


def _acks(came: Came) -> bool:
    return came.ack is not None and came.flags & (ACK | RST) == ACK


def ack_of_nothing(history: History, came: Came) -> Judged:
    """Only what was sent is acknowledged (RFC 9293 section 3.4)."""
    if not _acks(came):
        return False
    assert came.ack is not None
    most = history.sent.end
    return held(came.ack <= most, f"acknowledging {most} at most", f"{came.ack}")


def ack_of_a_gap(history: History, came: Came) -> Judged:
    """What comes behind a gap is not acknowledged: the number is cumulative."""
    if not _acks(came) or history.sent.next == history.sent.end:
        return False
    assert came.ack is not None
    most = history.sent.next
    beyond = most < came.ack <= history.sent.end
    return held(not beyond, f"acknowledging {most}: what follows was not sent", f"{came.ack}")


def ack_before_isn(_: History, came: Came) -> Judged:
    """The SYN at least is acknowledged by all that follows it."""
    if not _acks(came):
        return False
    assert came.ack is not None
    return held(came.ack >= 1, "acknowledging the SYN", f"{came.ack} (relative to the ISN)")


def ack_goes_back(history: History, came: Came) -> Judged:
    """RCV.NXT never goes back; judged where the order in which segments left is sure."""
    best = history.best
    if not _acks(came) or best is None or best.ack is None or not history.is_newer(came):
        return False
    assert came.ack is not None
    return held(came.ack >= best.ack, f"acknowledging {best.ack} at least", f"{came.ack}")


def window_shrinks(history: History, came: Came) -> Judged:
    """The right edge of the window does not move back (RFC 9293 section 3.8.6, SHLD-14)."""
    best = history.best
    if best is None or best.ack is None or came.flags & (SYN | RST) or not came.flags & ACK:
        return False
    if best.flags & (SYN | RST) or not history.is_newer(came) or came.ack is None:
        return False
    shift = history.their_shift
    edge = best.ack + (best.segment.window << shift)
    now = came.ack + (came.segment.window << shift)
    # What is below one unit of the scale is cut off, or filled up as by Linux.
    return held(
        now >= edge - (1 << shift if shift else 0),
        f"a window up to {edge} at least",
        f"up to {now}",
    )


RULES = (
    Rule("ack-of-nothing", ack_of_nothing, complete=True, numbers=True, on="sa"),
    Rule("ack-of-a-gap", ack_of_a_gap, complete=True, numbers=True, on="sa"),
    Rule("ack-before-isn", ack_before_isn, complete=True, numbers=True, on="sa"),
    Rule("ack-goes-back", ack_goes_back, numbers=True, on="sa"),
    Rule("window-shrinks", window_shrinks, numbers=True, on="a"),
)
