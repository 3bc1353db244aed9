"""Infers after which of the target's packets each packet of the peer reached the target.

The evidence is what packets acknowledge, and their timestamps: in a capture made near the peer, its
packets stand before those that the target sent while they were on their way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scapy_tfo.icmp import IcmpError
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment
from scapy_tfo.seq import at_most

_MOMENT = 50_000_000
"""ns: what a target still sends within this time of a RST that ends the connection, it sent before;
what the peer sends again within it was not sent again because it was lost."""


@dataclass(slots=True)
class _Evidence:
    """What has been seen of one conversation, by the indexes of its packets.

    behind: the answer, so far. open: what was sent and not acknowledged yet, with the numbers of
    its first byte and its end. sent: when each end was first sent. unanswered: what a target
    answers at once, whatever it has taken. acked: of the peer's stream, None before the SYN-ACK.
    last: the target's packet before. resets: the peer's, with their numbers. stamp: the TS val of
    the last segment in order.
    """

    behind: dict[int, int] = field(default_factory=dict)
    open: dict[int, tuple[int, int]] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    unanswered: list[int] = field(default_factory=list)
    acked: int | None = None
    end: int = 0
    last: int = -1
    resets: list[tuple[int, int]] = field(default_factory=list)
    stamp: int | None = None
    has_syn: bool = False


def taken_behind(talk: Conversation) -> dict[int, int]:
    """By index of a packet of the peer: the last of the target's that it came behind.

    Whatever the target sends acknowledges all that it has taken so far: what it took came behind
    each packet that does not acknowledge it, but for what was sent again since it was lost. And
    what it answers with an acknowledgement that says nothing new came behind the packet before
    that answer.
    """
    seen = _Evidence()
    for index, packet in enumerate(talk.connection.packets):
        segment = packet.what
        if not isinstance(segment, Segment):
            continue
        if packet.src == talk.target:
            _answer(talk, seen, index, segment)
            seen.last = index
        else:
            _question(talk, seen, index, segment)
    for index in seen.open:
        seen.behind.pop(index, None)
    return seen.behind


def _answer(talk: Conversation, seen: _Evidence, index: int, segment: Segment) -> None:
    """A packet of the target."""
    packets = talk.connection.packets
    if segment.is_rst:
        refused = [at for at in seen.open if _is_refusal(segment, talk.connection.packets[at].what)]
        for at in refused:
            del seen.open[at]
            seen.behind[at] = max(seen.behind.get(at, -1), seen.last)
        if not refused:
            _explain(talk, seen, index)
        return
    if not segment.flags & ACK:
        return
    acked = talk.remote_number(segment.ack)
    for at, start in seen.resets:
        # It was the end, where this is the number that the target expected.
        if start == acked and packets[index].when - packets[at].when < _MOMENT:
            seen.behind[at] = index
    for each, (start, end) in list(seen.open.items()):
        if end <= acked:
            del seen.open[each]
        elif start <= acked:
            seen.behind[each] = index
    says_nothing_new = seen.acked is not None and acked <= seen.acked
    if says_nothing_new and not segment.payload and not segment.flags & FIN:
        _explain(talk, seen, index)
    elif not says_nothing_new:
        seen.acked = acked
        seen.end = max(seen.end, acked)


def _is_refusal(answer: Segment, asked: Segment | IcmpError) -> bool:
    """Whether a RST rejects the acknowledgement of a segment, and with it all of it (RFC 9293
    section 3.10.7.4)."""
    return (
        answer.flags & (RST | ACK) == RST
        and isinstance(asked, Segment)
        and bool(asked.flags & ACK)
        and asked.ack == answer.seq
    )


def is_refused(talk: Conversation, index: int) -> bool:
    """Whether the target's next packet is the RST that rejects what that one acknowledges."""
    packets = talk.connection.packets
    for packet in packets[index + 1 :]:
        if packet.src == talk.target and isinstance(packet.what, Segment):
            return _is_refusal(packet.what, packets[index].what)
    return False


def _explain(talk: Conversation, seen: _Evidence, index: int) -> None:
    """Find what this answers: of all that was asked since, as late as leaves one for each of the
    answers behind it."""
    more = sum(1 for _ in _answers_behind(talk, index, seen.acked or 0))
    if len(seen.unanswered) <= more:
        return
    at = len(seen.unanswered) - more - 1
    asked = seen.unanswered[at]
    if seen.last >= 0:
        seen.behind[asked] = max(seen.behind.get(asked, -1), seen.last)
    del seen.unanswered[: at + 1]


def _answers_behind(talk: Conversation, index: int, acked: int) -> Iterator[int]:
    """Such answers that follow before the peer sends again."""
    packets = talk.connection.packets
    for at in range(index + 1, len(packets)):
        segment = packets[at].what
        if packets[at].src != talk.target:
            return
        if isinstance(segment, Segment) and segment.flags & ACK and not segment.is_rst:
            new = talk.remote_number(segment.ack)
            if new <= acked and not segment.payload and not segment.flags & FIN:
                yield at
            acked = max(acked, new)


def _question(talk: Conversation, seen: _Evidence, index: int, segment: Segment) -> None:
    """A packet of the peer."""
    if segment.checksum is not None or segment.data_offset is not None:
        return
    start = talk.remote_number(segment.seq)
    end = talk.remote_number(segment.end)
    if segment.is_rst:
        seen.resets.append((index, start))
        return
    stamps = segment.timestamps
    if segment.flags & SYN:
        if seen.has_syn:
            seen.unanswered.append(index)
        elif stamps:
            seen.stamp = stamps[0]
        seen.has_syn = True
        return
    if not segment.flags & ACK or not segment.length:
        return
    is_old = bool(stamps and seen.stamp is not None and not at_most(seen.stamp, stamps[0]))
    if is_old or end <= seen.end or start > seen.end:
        seen.unanswered.append(index)
    if is_old:
        return
    if start <= seen.end < end:
        seen.end = end
        seen.stamp = stamps[0] if stamps else seen.stamp
    when = talk.connection.packets[index].when
    if when - seen.sent.setdefault(end, when) >= _MOMENT:
        # Who knows which of the two was lost.
        for each in [at for at, (_, other) in seen.open.items() if other == end]:
            del seen.open[each]
            seen.behind.pop(each, None)
        return
    seen.open[index] = start, end
