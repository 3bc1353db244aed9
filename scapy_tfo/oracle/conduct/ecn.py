"""Rules on ECN: RFC 3168 section 6.1."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held
from scapy_tfo.segment import CWR, ECE, RST, SYN

_ECT = (1, 2)


def _agreed(history: History) -> bool:
    answer = history.answer
    return history.offered.ecn and answer is not None and bool(answer.flags & ECE)


def mark_not_agreed(history: History, came: Came) -> Judged:
    """No packet says that it can be marked before both ends agreed (section 6.1.1)."""
    if history.offered.ecn or history.offered.experiment:
        return False
    mark = came.segment.traffic_class & 3
    return held(mark not in _ECT, "not ECT: ECN was not agreed on", f"ECT({mark & 1})")


def ack_marked(history: History, came: Came) -> Judged:
    """A segment without text is never ECN-capable (sections 6.1.1 and 6.1.4), in the absence of the
    experiments of RFC 8311."""
    if came.length > bool(came.flags & SYN) or history.offered.experiment:
        return False
    mark = came.segment.traffic_class & 3
    return held(mark not in _ECT, "not ECT without text", f"ECT({mark & 1})")


def flags_not_agreed(history: History, came: Came) -> Judged:
    """Neither ECE nor CWR without agreement."""
    if history.offered.ecn or came.flags & (SYN | RST):
        return False
    return held(not came.flags & (ECE | CWR), "neither ECE nor CWR", came.segment)


def echo_of_no_mark(history: History, came: Came) -> Judged:
    """ECE answers a packet that was marked (section 6.1.3)."""
    if not _agreed(history) or came.flags & (SYN | RST):
        return False
    plain = not came.segment.reserved and not history.offered.fast_open
    if not plain or any(each.reserved for each in history.last_sent):
        return False
    echoes = bool(came.flags & ECE)
    return held(not echoes or history.has_ce, "ECE after CE only", "ECE: nothing was marked")


RULES = (
    Rule("mark-not-agreed", mark_not_agreed, complete=True, ordered=True),
    Rule("mark-without-text", ack_marked, complete=True, ordered=True),
    Rule("ecn-flags-not-agreed", flags_not_agreed, complete=True, on="a"),
    Rule("ece-without-ce", echo_of_no_mark, complete=True, on="a"),
)
