"""What a target met: a sort of segment in a state, as both show on the wire."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.explore.conversation.wrong import Situation
from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

Met = tuple[str, str]
"""A state, and a sort of segment."""

STATES = (
    *("LISTEN", "SYN-RECEIVED", "ESTABLISHED", "CLOSE-WAIT", "FIN-WAIT-1", "FIN-WAIT-2"),
    *("LAST-ACK", "TIME-WAIT", "RESET"),
)
"""Of RFC 9293 section 3.3.2, as far as packets tell: LAST-ACK is CLOSING, too, and TIME-WAIT is
CLOSED. RESET: somebody sent a RST."""

SORTS = (
    *("SYN", "SYN with text", "SYN that asks", "SYN with a cookie", "SYN, cookie and text"),
    *("SYN-ACK", "RST", "RST that is exact", "RST in the window", "RST outside"),
    *("ACK of nothing new", "ACK of something", "ACK of too much", "no ACK"),
    *("text", "old text", "text ahead", "FIN", "old FIN", "FIN ahead"),
    *("wrong checksum", "ICMP unreachable", "ICMP too big", "ICMP, other"),
)

_ONLY_BEHIND = frozenset(
    (
        *("RST that is exact", "RST in the window", "RST outside"),
        *("ACK of something", "ACK of too much", "old text", "text ahead", "old FIN", "FIN ahead"),
        *("ICMP unreachable", "ICMP too big", "ICMP, other"),
    )
)
"""Sorts that take a SYN-ACK, whose numbers they are about, or which they quote."""

POSSIBLE = frozenset(
    (state, sort)
    for state in STATES
    for sort in SORTS
    if (sort not in _ONLY_BEHIND if state == "LISTEN" else sort != "RST")
)


def met(now: Situation, made: Segment | IcmpError, fin_acked: int) -> Met:
    """What a target meets. now: before it came. fin_acked: the target acknowledged the client's
    FIN."""
    return state_of(now, fin_acked), sort_of(now, made)


def state_of(now: Situation, fin_acked: int) -> str:
    """The state of a connection, by what its packets tell."""
    if now.over:
        return "RESET"
    if now.iss is None:
        return "LISTEN"
    if now.unacked == now.iss:
        return "SYN-RECEIVED"
    if now.fin is None:
        return "CLOSE-WAIT" if fin_acked else "ESTABLISHED"
    if now.unacked == now.fin:
        return "TIME-WAIT" if fin_acked else "FIN-WAIT-2"
    return "LAST-ACK" if fin_acked else "FIN-WAIT-1"


def sort_of(now: Situation, made: Segment | IcmpError) -> str:
    """What a packet is to the connection."""
    if isinstance(made, IcmpError):
        if made.mtu:
            return "ICMP too big"
        hard = made.type == (3 if now.client.version == 4 else 1)
        return "ICMP unreachable" if hard else "ICMP, other"
    if made.checksum is not None:
        return "wrong checksum"
    flags = made.flags
    if flags & SYN:
        return _syn(made)
    if flags & RST:
        return _rst(now, made)
    what = "FIN" if flags & FIN else "text" if made.payload else ""
    if not flags & ACK:
        return "no ACK"
    if now.iss is None:
        return what or "ACK of nothing new"
    if seq.before(now.sent_end, made.ack):
        return "ACK of too much"
    if not what:
        old = seq.at_most(made.ack, now.unacked)
        return "ACK of nothing new" if old else "ACK of something"
    if seq.before(made.seq, now.awaits):
        return f"old {what}"
    return what if made.seq == now.awaits else f"{what} ahead"


def _syn(made: Segment) -> str:
    if made.flags & ACK:
        return "SYN-ACK"
    cookie = made.cookie
    if cookie is None:
        return "SYN with text" if made.payload else "SYN"
    if not cookie:
        return "SYN that asks"
    return "SYN, cookie and text" if made.payload else "SYN with a cookie"


def _rst(now: Situation, made: Segment) -> str:
    if now.iss is None:
        return "RST"
    if made.seq == now.awaits:
        return "RST that is exact"
    inside = seq.before(now.awaits, made.seq) and seq.before(made.seq, now.edge)
    return "RST in the window" if inside else "RST outside"
