"""When the target saw and sent each packet of a capture, which may have been made far from it."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scapy_tfo.pkt.connections import Captured
from scapy_tfo.pkt.conversation import Conversation
from scapy_tfo.segment import ACK, SYN, Segment

_NEAR = 1_000_000
"""ns: a way that is shorter than this counts as none."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A packet at the target's own time, ns. index: in its conversation. order: among those of one
    time."""

    when: int
    order: int
    talk: Conversation
    index: int

    @property
    def packet(self) -> Captured:
        return self.talk.connection.packets[self.index]


def moments(talks: Sequence[Conversation]) -> list[Moment]:
    """All packets in the order in which the target saw them.

    A capture made at the peer has the target's answers later by the time of the way there and
    back: by the least time that any acknowledgement took, and they are moved forward by that.
    """
    delay = min((each for talk in talks for each in _delays(talk)), default=0)
    each_in_order = [_as_seen(talk, delay if delay >= _NEAR else 0) for talk in talks]
    return list(heapq.merge(*each_in_order, key=lambda each: (each.when, each.order)))


def _delays(talk: Conversation) -> Iterator[int]:
    """From what the peer sent to the first that acknowledges it, or is a RST because of it."""
    ends: list[int] = []
    sent: list[int] = []
    refused: dict[int, int] = {}
    acked = 0
    for packet in talk.connection.packets:
        segment = packet.what
        if not isinstance(segment, Segment):
            continue
        if packet.src != talk.target:
            end = talk.remote_number(segment.end)
            if segment.length and (not ends or end > ends[-1]):
                ends.append(end)
                sent.append(packet.when)
            refused[segment.ack] = packet.when
        elif segment.flags & ACK:
            ack = talk.remote_number(segment.ack)
            at = bisect_left(ends, ack)
            if at < len(ends) and (ack > acked or segment.flags & SYN):
                acked = ack
                yield packet.when - sent[at]
        elif segment.is_rst and segment.seq in refused:
            yield packet.when - refused[segment.seq]


def _as_seen(talk: Conversation, delay: int) -> list[Moment]:
    """One conversation's, in order.

    Whatever the target sends acknowledges all that it has taken so far: a segment that it took came
    after each packet that does not acknowledge it, whichever was captured first.
    """
    packets = talk.connection.packets
    timed = sorted(
        (packet.when - delay if packet.src == talk.target else packet.when, index)
        for index, packet in enumerate(packets)
    )
    behind = _taken_behind(talk)
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
                index,
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


def _taken_behind(talk: Conversation) -> dict[int, int]:
    """Of each segment of the peer that was taken: the last packet of the target that does not
    acknowledge it, by their indexes. Not of one that was sent again: who knows which was taken."""
    behind: dict[int, int] = {}
    open_: dict[int, int] = {}
    ends: set[int] = set()
    last = -1
    for index, packet in enumerate(talk.connection.packets):
        segment = packet.what
        if not isinstance(segment, Segment):
            continue
        if packet.src != talk.target:
            if segment.flags & SYN or not segment.length:
                continue
            end = talk.remote_number(segment.end)
            if end in ends:
                open_.pop(end, None)
            else:
                open_[end] = index
            ends.add(end)
        elif segment.flags & ACK:
            ack = talk.remote_number(segment.ack)
            for end in [each for each in open_ if each <= ack]:
                behind[open_.pop(end)] = last
            last = index
    return behind
