"""When the target saw and sent each packet of a capture, which may have been made far from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scapy_tfo.pkt.connections import Captured
from scapy_tfo.pkt.conversation import Conversation
from scapy_tfo.segment import ACK, Segment

_NEAR = 1_000_000
"""ns: a way that is shorter than this counts as none."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A packet at the target's own time, ns."""

    when: int
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
    if delay < _NEAR:
        delay = 0
    found = [
        Moment(packet.when - delay if packet.src == talk.target else packet.when, talk, index)
        for talk in talks
        for index, packet in enumerate(talk.connection.packets)
    ]
    return sorted(found, key=lambda each: (each.when, each.packet.number))


def _delays(talk: Conversation) -> Iterator[int]:
    """From what the peer sent to the first that acknowledges it, or is a RST because of it."""
    sent: dict[int, int] = {}
    refused: dict[int, int] = {}
    for packet in talk.connection.packets:
        segment = packet.what
        if not isinstance(segment, Segment):
            continue
        if packet.src != talk.target:
            sent[segment.end] = packet.when
            refused[segment.ack] = packet.when
        elif segment.flags & ACK:
            if segment.ack in sent:
                yield packet.when - sent.pop(segment.ack)
        elif segment.is_rst and segment.seq in refused:
            yield packet.when - refused[segment.seq]
