"""Estimates when the target saw and sent each packet of a capture made far from it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scapy_tfo.capture.connections import Captured
from scapy_tfo.pkt.export.causality import taken_behind
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.seq import at_most, before

_NEAR = 5_000_000
"""ns: a way that is shorter than this counts as none: it cannot be told from what varies."""

_LATE, _LATE_SYN_ACK = 35_000_000, 200_000_000
"""ns: what was captured later than this behind what came before has waited for something: a delayed
ACK takes 40 ms, a SYN-ACK that is sent again a second."""

_REMEMBERED = 256
"""Segments of the peer that may be waiting for an answer."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A packet at the target's own time, ns. order: among those of one time. index: in its
    conversation. late: ns by which it may come later."""

    when: int
    order: int
    talk: Conversation
    index: int
    packet: Captured
    late: int


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
    timed = sorted(
        (packet.when - delay if packet.src == talk.target else packet.when, index)
        for index, packet in enumerate(packets)
    )
    behind = taken_behind(talk)
    found: list[Moment] = []
    waiting: deque[tuple[int, int]] = deque()
    told = -1

    def add(when: int, index: int) -> None:
        last = found[-1] if found else None
        number = packets[index].number
        seen = max(when, last.when) if last else when
        # A busy host captures late what the target said at once.
        is_answer = last is not None and packets[index].src == talk.target
        late = seen - last.when if last is not None and is_answer else 0
        segment = packets[index].what
        is_syn_ack = isinstance(segment, Segment) and segment.is_syn_ack
        late = late if late < (_LATE_SYN_ACK if is_syn_ack else _LATE) else 0
        found.append(
            Moment(
                seen - late,
                max(number, last.order) if last else number,
                talk,
                len(found),
                packets[index],
                late,
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
