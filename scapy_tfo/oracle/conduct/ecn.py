"""Rules on ECN: RFC 3168 section 6.1."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import CLOSED, ECN, LATE, OLD, WAITS
from scapy_tfo.oracle.conduct.rule import Breach, Judged, Rule
from scapy_tfo.segment import CWR, ECE, RST, SYN

_ECT = (1, 2)
_ROUND_TRIP = 0.2
"""Seconds in which what was under way comes."""
_SEGMENTS = 2


def _agreed(history: History) -> bool:
    answer = history.answer
    return history.offered.ecn and answer is not None and bool(answer.flags & ECE)


def syn_ack_marked(history: History, came: Came) -> Judged:
    """No SYN-ACK says that it can be marked (section 6.1.1). A first one may, by RFC 5562, where
    ECN was offered."""
    first = history.answer
    if history.offered.experiment:
        return False
    mark = came.segment.traffic_class & 3
    if not history.offered.ecn:
        return mark not in _ECT or Breach("not ECT: ECN was not offered", f"ECT({mark & 1})")
    if first is None or first.segment.traffic_class & 3 in _ECT:
        return False
    return mark not in _ECT or Breach("not ECT on a SYN-ACK sent again", f"ECT({mark & 1})")


def mark_not_agreed(history: History, came: Came) -> Judged:
    """No packet says that it can be marked unless both ends agreed, nor does any behind a SYN-ACK
    that does not agree (section 6.1.1)."""
    if history.offered.experiment:
        return False
    mark = came.segment.traffic_class & 3
    if not history.offered.ecn:
        return mark not in _ECT or Breach("not ECT: ECN was not agreed on", f"ECT({mark & 1})")
    if not history.refuses_ecn or not came.segment.payload or came.flags & RST:
        return False
    return mark not in _ECT or Breach("not ECT: a SYN-ACK without ECE came", f"ECT({mark & 1})")


def ack_marked(history: History, came: Came) -> Judged:
    """A segment without text is never ECN-capable (sections 6.1.1 and 6.1.4), in the absence of the
    experiments of RFC 8311."""
    if came.length or history.offered.experiment:
        return False
    mark = came.segment.traffic_class & 3
    return mark not in _ECT or Breach("not ECT without text", f"ECT({mark & 1})")


def flags_not_agreed(history: History, came: Came) -> Judged:
    """Neither ECE nor CWR without agreement."""
    if history.offered.ecn or came.flags & (SYN | RST):
        return False
    return not came.flags & (ECE | CWR) or Breach("neither ECE nor CWR", str(came.segment))


def echo_of_no_mark(history: History, came: Came) -> Judged:
    """ECE answers a packet that was marked (section 6.1.3)."""
    if not _agreed(history) or came.flags & (SYN | RST):
        return False
    plain = not came.segment.reserved and not history.offered.fast_open
    if not plain or any(each.reserved for each in history.last_sent):
        return False
    echoes = bool(came.flags & ECE)
    return (not echoes or history.has_ce) or Breach("ECE after CE only", "ECE: nothing was marked")


def _classic(history: History) -> bool:
    """Agreed, without the experiments of RFC 8311 and accurate ECN."""
    return _agreed(history) and not history.offered.experiment


def _copy(history: History, came: Came) -> bool:
    if not came.segment.payload or came.seq is None or came.flags & SYN:
        return False
    if history.answer is not None and came.seq < history.answer.length:
        # Text that a SYN-ACK had may be sent as if it was new, once the connection is open.
        return False
    return came.seq + came.length <= history.theirs.end


def copy_marked(history: History, came: Came) -> Judged:
    """Text that is sent again is not ECN-capable (section 6.1.5)."""
    if not _classic(history) or not _copy(history, came):
        return False
    mark = came.segment.traffic_class & 3
    return mark not in _ECT or Breach("not ECT: it was sent before", f"ECT({mark & 1})")


def copy_tells_of_a_reduction(history: History, came: Came) -> Judged:
    """Nor does it have CWR (section 6.1.2)."""
    if not _classic(history) or not _copy(history, came):
        return False
    return not came.flags & CWR or Breach("no CWR on text that was sent before", "CWR")


def mark_unanswered(history: History, came: Came) -> Judged:
    """After CE each ACK has ECE until CWR comes (section 6.1.3)."""
    marked = history.peer.marked
    if marked is None or not _classic(history) or came.flags & (SYN | RST) or came.ack is None:
        return False
    end = history.peer.fin_end
    if came.ack < marked or (end is not None and came.ack >= end):
        # Nothing more is to come that it could slow down, and TIME-WAIT keeps little.
        return False
    return bool(came.flags & ECE) or Breach("ECE: CE came, and no CWR", "none")


def reduction_untold(history: History, came: Came) -> Judged:
    """After ECE new text tells of a reduction by CWR (section 6.1.2)."""
    since = history.peer.echoed
    if since is None or not _classic(history) or not came.segment.payload or came.seq is None:
        return False
    if came.at - since <= _ROUND_TRIP or came.seq < history.theirs.end or came.flags & RST:
        return False
    if not history.peer.window:
        return False
    tells = [*history.after_echo, bool(came.flags & CWR)]
    if len(tells) < _SEGMENTS:
        return False
    return any(tells) or Breach("CWR", f"none on {len(tells)} segments of new text after ECE")


def probe_marked(history: History, came: Came) -> Judged:
    """A probe of a closed window is not ECN-capable, nor has it CWR (section 6.1.6)."""
    peer = history.peer
    # What comes late with an older number closes no window.
    probes = peer.window == 0 and peer.closed and history.is_quiet(came) and history.writes
    if not probes or came.seq is None or came.seq > history.their_una or came.flags & (SYN | RST):
        return False
    if history.offered.experiment:
        return False
    mark = came.segment.traffic_class & 3
    right = mark not in _ECT and not came.flags & CWR
    return right or Breach("a probe without ECT and CWR", f"ECT({mark & 1}), or CWR")


RULES: tuple[Rule, ...] = (
    Rule(
        "probe-marked",
        probe_marked,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=CLOSED | LATE | WAITS,
    ),
    Rule("syn-ack-marked", syn_ack_marked, complete=True, ordered=True, on="s"),
    Rule("mark-not-agreed", mark_not_agreed, complete=True, ordered=True, on="ra"),
    Rule("mark-without-text", ack_marked, complete=True, ordered=True),
    Rule("ecn-flags-not-agreed", flags_not_agreed, complete=True, on="a"),
    Rule("ece-without-ce", echo_of_no_mark, complete=True, on="a", needs=ECN),
    Rule(
        "copy-marked",
        copy_marked,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=ECN | OLD,
    ),
    Rule(
        "copy-with-cwr",
        copy_tells_of_a_reduction,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=ECN | OLD,
    ),
    Rule(
        "mark-unanswered",
        mark_unanswered,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=ECN,
    ),
    Rule(
        "reduction-untold",
        reduction_untold,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=ECN,
    ),
)
