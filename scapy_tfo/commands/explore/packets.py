"""Prints the packets of a conversation, with the numbers that findings have."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, SYN, MalformedPacketError, Segment
from scapy_tfo.seq import distance

_End = tuple[object, int, object, int]
_BLOCK = struct.Struct("!II")


class Packets:
    """The packets of a run in their order. Sequence numbers count from the ISN of their end, where
    its SYN was among them."""

    def __init__(self) -> None:
        self._isns: dict[_End, int] = {}

    def line(self, at: float, data: bytes, *, to_target: bool, fate: str = "") -> str:
        """One packet. at: seconds. fate: what became of it on its way."""
        arrow = "client -> target " if to_target else "client <- target "
        return f"{at:10.3f}  {arrow} {self._text(data)}" + (f"  [{fate}]" if fate else "")

    def _text(self, data: bytes) -> str:
        try:
            segment = Segment.from_bytes(data)
        except MalformedPacketError as error:
            return str(error)
        ends: _End = (segment.src, segment.sport, segment.dst, segment.dport)
        if segment.flags & SYN:
            self._isns[ends] = segment.seq
        own, theirs = self._isns.get(ends), self._isns.get((*ends[2:], *ends[:2]))
        shown = replace(
            segment,
            seq=segment.seq if own is None else distance(own, segment.seq) % (1 << 32),
            ack=segment.ack
            if theirs is None or not segment.flags & ACK
            else distance(theirs, segment.ack) % (1 << 32),
        )
        return "".join((str(shown), *_options(segment, theirs or 0)))


def _options(segment: Segment, isn: int) -> Iterator[str]:
    """What the line of a segment leaves out. isn: of the other end."""
    for each in opt.pull_options(segment.options):
        if each.kind == opt.SACK and each.data and len(each.data) % _BLOCK.size == 0:
            for start, end in _BLOCK.iter_unpack(each.data):
                yield f" SACK={distance(isn, start)}:{distance(isn, end)}"
    times = segment.timestamps
    if times is not None:
        yield f" TS={times[0]}/{times[1]}"
