"""Infers from a target's packets how its sockets were set up."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.reference.options import DEFAULT_MSS
from scapy_tfo.segment import ACK, RST, SYN, Segment

_OPTIONS = 40
_NEVER = 1 << 63


def nobody_listens(talks: Sequence[Conversation]) -> bool:
    """Whether SYNs got nothing but RSTs."""
    sent = [seen.what for talk in talks for seen in talk.segments(talk.target)]
    return any(each.is_rst for each in sent) and not any(each.is_syn_ack for each in sent)


def pending_limit(talks: Sequence[Conversation]) -> int | None:
    """How many fast opens a listener lets wait for their ACK (RFC 7413 section 5.1), as far as it
    can be told: as many as waited when data with a cookie was refused and no cookie given instead.
    None: none was refused so.
    """
    begun: list[tuple[int, int]] = []
    refused: list[int] = []
    for talk in talks:
        answer = next((each for each in talk.segments(talk.target) if each.what.is_syn_ack), None)
        syn = next((each.what for each in talk.segments(talk.peer) if each.what.is_syn), None)
        if answer is None or syn is None or not syn.cookie or not syn.payload:
            continue
        if talk.remote_number(answer.what.ack) > 0:
            done = (each.packet.when for each in talk.segments(talk.peer) if _is_ack(each.what))
            begun.append((answer.packet.when, next(done, _NEVER)))
        elif answer.what.cookie is None:
            refused.append(answer.packet.when)
    waiting = [sum(start < when < end for start, end in begun) for when in refused]
    return min(filter(None, waiting), default=None)


def _is_ack(segment: Segment) -> bool:
    return segment.flags & (SYN | ACK | RST) == ACK and segment.checksum is None


def least_full(talk: Conversation) -> int:
    """Bytes of data that a full segment has at least, whatever its options."""
    return max(_mss(talk) - _OPTIONS, 1)


def _mss(talk: Conversation) -> int:
    """Bytes, by what both ends offer."""
    sizes = []
    for end in (talk.peer, talk.target):
        offered = (seen.what.mss for seen in talk.segments(end) if seen.what.flags & SYN)
        sizes.append(next(offered, None) or DEFAULT_MSS[talk.connection.family])
    return min(sizes)


def sends_at_once(talk: Conversation) -> bool:
    """Whether a small segment went out while another one was not acknowledged, as it would not with
    Nagle's algorithm (RFC 9293 section 3.7.4). Packets may stand for many segments."""
    sent = small_end = 0
    for packet in talk.connection.packets:
        segment = packet.what
        if not isinstance(segment, Segment) or segment.flags & (ACK | RST) != ACK:
            continue
        if packet.src == talk.peer:
            if talk.local_number(segment.ack) >= small_end:
                small_end = 0
            continue
        size = len(segment.payload)
        start = talk.local_number(segment.seq)
        room = _mss(talk) - len(segment.options)
        is_small = size % talk.full > 0 if talk.has_fulls else 0 < size < room
        if is_small and start >= sent:
            if small_end:
                return True
            small_end = start + size
        sent = max(sent, start + size)
    return False


def is_fast(talk: Conversation) -> bool:
    """Whether the target took part in fast open: a cookie of its, or data on a SYN taken."""
    for seen in talk.segments(talk.target):
        segment = seen.what
        if segment.flags & SYN and any(
            isinstance(each, opt.FastOpen) for each in segment.fast_open
        ):
            return True
        if segment.is_syn_ack and talk.remote_number(segment.ack) > 0:
            return True
    return False
