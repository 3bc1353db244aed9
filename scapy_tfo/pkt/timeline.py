"""When the target saw and sent each packet of a capture, which may have been made far from it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scapy_tfo.pkt.behind import taken_behind
from scapy_tfo.pkt.connections import Captured
from scapy_tfo.pkt.conversation import Conversation
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.seq import at_most, before

_NEAR = 5_000_000
"""ns: a way that is shorter than this counts as none: it cannot be told from what varies."""

_MOMENT = 50_000_000
"""ns within which a busy host gets to capture what it was sent."""

_REMEMBERED = 256
"""Segments of the peer that may be waiting for an answer."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A packet at the target's own time, ns. order: among those of one time. index: in its
    conversation."""

    when: int
    order: int
    talk: Conversation
    index: int
    packet: Captured


def moments(talks: Sequence[Conversation]) -> list[Moment]:
    """All packets in the order in which the target saw them, which conversations have from now on.

    A capture made at the peer has the target's answers later by the time of the way there and
    back: by the least time that any acknowledgement took, and they are moved forward by that.
    """
    delay = min((each for talk in talks for each in _delays(talk)), default=0)
    each_in_order = [_as_seen(talk, delay if delay >= _NEAR else 0) for talk in talks]
    for talk, seen in zip(talks, each_in_order, strict=True):
        talk.connection.packets = [each.packet for each in seen]
    return list(heapq.merge(*each_in_order, key=lambda each: (each.when, each.order)))


def _delays(talk: Conversation) -> Iterator[int]:
    """From the last segment of the peer that could be the cause to what acknowledges it, or is a
    RST because of it."""
    sent: deque[tuple[int, Segment]] = deque(maxlen=_REMEMBERED)
    acked: set[int] = set()
    for packet in talk.connection.packets:
        segment = packet.what
        if not isinstance(segment, Segment):
            continue
        if packet.src != talk.target:
            sent.appendleft((packet.when, segment))
        elif segment.is_rst or segment.flags & SYN or segment.ack not in acked:
            acked.add(segment.ack)
            yield from islice(
                (packet.when - when for when, each in sent if _is_cause(each, segment)), 1
            )


def _is_cause(sent: Segment, answer: Segment) -> bool:
    if answer.flags & ACK:
        return before(sent.seq, answer.ack) and at_most(answer.ack, sent.end)
    return sent.ack == answer.seq


def _as_seen(talk: Conversation, delay: int) -> list[Moment]:
    """One conversation's, in order; what the target says of that order is right, whichever of two
    packets was captured first."""
    packets = talk.connection.packets
    timed = []
    asked: int | None = None
    for index, packet in enumerate(packets):
        segment, when = packet.what, packet.when
        if packet.src == talk.target:
            when -= delay
            if isinstance(segment, Segment) and segment.is_syn_ack and asked is not None:
                # A kernel answers at once, whatever kept the answer from being captured.
                when = asked if asked < when < asked + _MOMENT else when
            asked = None
        elif isinstance(segment, Segment) and segment.is_syn:
            asked = when
        timed.append((when, index))
    timed.sort()
    behind = taken_behind(talk)
    found: list[Moment] = []
    waiting: deque[tuple[int, int]] = deque()
    told = -1

    def add(when: int, index: int) -> None:
        last = found[-1] if found else None
        number = packets[index].number
        found.append(
            Moment(
                max(when, last.when) if last else when,
                max(number, last.order) if last else number,
                talk,
                len(found),
                packets[index],
            )
        )

    for when, index in timed:
        if packets[index].src != talk.target:
            waiting.append((when, index))
        else:
            add(when, index)
            told = index
        while waiting and behind.get(waiting[0][1], -1) <= told:
            add(*waiting.popleft())
    for when, index in waiting:
        add(when, index)
    return found
