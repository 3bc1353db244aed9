"""Pairs the packets of one direction of a connection, as sent and as they arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo.segment import FIN, RST, SYN, Segment

_WRAP, _HALF = 1 << 32, 1 << 31
_MARKS = SYN | FIN | RST


@dataclass(slots=True)
class Packet:
    """A segment in one of the captures. number: of its frame. when: ns. fellow: the same in the
    other capture."""

    number: int
    when: int
    segment: Segment
    fellow: Packet | None = None

    @property
    def stamp(self) -> bytes | None:
        """Its TSval."""
        found = self.segment.option(opt.TIMESTAMPS)
        return found.data[:4] if found else None

    def key(self) -> tuple[object, ...]:
        """What no path changes."""
        segment, stamp = self.segment, self.stamp
        known: object = stamp if stamp is not None else segment.ip_id
        return segment.seq, segment.flags & _MARKS, known

    def range(self) -> tuple[int, int]:
        """Its sequence numbers, from the first up to behind the last one."""
        return self.segment.seq, self.segment.length


def ahead(start: int, end: int) -> int:
    """From one sequence number to another, negative where it lies before."""
    return (end - start + _HALF) % _WRAP - _HALF


class Way:
    """The packets of one direction, as sent and as they arrived."""

    def __init__(self, sent: list[Packet], arrived: list[Packet]) -> None:
        """Pair what was sent with what arrived, the surest first."""
        self.sent, self.arrived = sent, arrived
        self._match(lambda each: (*each.key(), len(each.segment.payload)))
        # Of others, network cards change the size.
        self._match(lambda each: each.key() if each.segment.flags & SYN else None)
        self._match(lambda each: (*each.key()[:2], each.segment.flags & SYN or each.range()))

    def _match(self, key_of: Callable[[Packet], object]) -> None:
        free: dict[object, list[Packet]] = {}
        for each in self.arrived:
            if each.fellow is None and key_of(each) is not None:
                free.setdefault(key_of(each), []).append(each)
        for each in self.sent:
            key = key_of(each) if each.fellow is None else None
            if key is not None and (others := free.get(key)):
                other = next((one for one in others if _may_be_same(each, one)), None)
                if other is not None:
                    others.remove(other)
                    each.fellow, other.fellow = other, each

    def differences(self) -> list[tuple[bool, int]]:
        """ns from the sender's clock to the receiver's for each packet that passed, and whether it
        is a SYN: which other packet is which, where some were sent again, is less sure."""
        return [
            (bool(each.segment.flags & SYN), each.fellow.when - each.when)
            for each in self.sent
            if each.fellow is not None
        ]

    def is_in(self, packet: Packet, others: Sequence[Packet]) -> bool:
        """Whether each byte of a segment without SYN and RST is in others that are paired with
        none: network cards join and cut segments."""
        if packet.segment.flags & (SYN | RST) or not packet.segment.payload:
            return False
        at, end = 0, len(packet.segment.payload)
        ranges = sorted(
            (ahead(packet.segment.seq, other.segment.seq), len(other.segment.payload))
            for other in others
            if other.fellow is None and other.segment.payload and not other.segment.flags & SYN
        )
        for start, size in ranges:
            if start <= at < start + size:
                at = start + size
        return at >= end


def _may_be_same(one: Packet, other: Packet) -> bool:
    """Timestamps of both have to agree."""
    return None in (one.stamp, other.stamp) or one.stamp == other.stamp
