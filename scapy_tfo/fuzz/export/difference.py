"""Tells in what a run of a wrong stack differs from that of the reference."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.option import MSS, SACK, TFO, TIMESTAMPS, FastOpen, RawOption, pull_options
from scapy_tfo.segment import ACK, PSH, SYN, MalformedPacketError, Segment

_MODULUS = 1 << 32
_HALF = 1 << 31
_PADDING = (0, 1)
_STAMPS = 8
"""Bytes of a timestamps option, but for its kind and length."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A packet of the target's. numbers: flags, sequence numbers from the ISNs, bytes of data."""

    numbers: tuple[int, int, int, int]
    data: bytes
    options: tuple[tuple[int, object], ...]


def difference(right: Iterable[TracedPacket], wrong: Iterable[TracedPacket]) -> str:
    """In what two runs differ, as a script has to look at it.

    "options" of a packet; "numbers", or that it is sent at all; "more" packets of the target's;
    "data"; "" in nothing of these.
    """
    return _difference(_answers(right), _answers(wrong))


def _answers(packets: Iterable[TracedPacket]) -> dict[int, list[_Answer]]:
    """What the target sent to each of our ports, in order; the lowest port is 0."""
    isns: dict[tuple[int, bool], int] = {}
    cookies: dict[bytes, int] = {}
    clocks: dict[int, int] = {}
    found: dict[int, list[_Answer]] = {}
    for packet in packets:
        try:
            segment = Segment.from_bytes(packet.data)
        except MalformedPacketError:
            continue
        ours = packet.outbound
        port = segment.sport if ours else segment.dport
        if segment.flags & SYN:
            isns.setdefault((port, ours), segment.seq)
        for each in segment.fast_open:
            if isinstance(each, FastOpen):
                cookies.setdefault(each.cookie, len(cookies))
        answers = found.setdefault(port, [])
        if not ours:
            ack = segment.ack - isns.get((port, True), 0) if segment.flags & ACK else 0
            number = (segment.seq - isns.get((port, False), 0)) % _MODULUS
            numbers = segment.flags & ~PSH, number, ack % _MODULUS, len(segment.payload)
            stamps = segment.timestamps
            clock = clocks.get(port, stamps[0] if stamps is not None else 0)
            if stamps is not None:
                clocks[port] = stamps[0]
            options = tuple(_options(segment, isns.get((port, True), 0), cookies, clock))
            answers.append(_Answer(numbers, segment.payload, options))
    lowest = min(found, default=0)
    return {port - lowest: answers for port, answers in found.items()}


def _options(
    segment: Segment, isn: int, cookies: Mapping[bytes, int], clock: int
) -> Iterator[tuple[int, object]]:
    """Kind of each, and what is not the target's own choice.

    That is the length, the MSS, a timestamp's echo and whether its value is before clock, the
    blocks of a SACK from our ISN, and which of the cookies of this run it is.
    """
    for each in segment.fast_open:
        if isinstance(each, FastOpen):
            yield TFO, (each.form, cookies[each.cookie])
    for option in pull_options(segment.options):
        if option.kind == TIMESTAMPS and len(option.data) == _STAMPS:
            value, echo = struct.unpack("!II", option.data)
            yield TIMESTAMPS, (echo, (value - clock) % _MODULUS >= _HALF)
        elif option.kind not in _PADDING:
            yield option.kind, _content(option, isn)


def _content(option: RawOption, isn: int) -> object:
    if option.kind == SACK and len(option.data) % 4 == 0:
        edges = struct.unpack(f"!{len(option.data) // 4}I", option.data)
        return tuple((each - isn) % _MODULUS for each in edges)
    return option.data if option.kind == MSS else len(option.data)


def _difference(
    right: Mapping[int, Sequence[_Answer]], wrong: Mapping[int, Sequence[_Answer]]
) -> str:
    """The same, by what the target sent to each of our ports."""
    kinds = set()
    for port, mine in right.items():
        theirs = wrong.get(port, ())
        for one, other in zip(mine, theirs, strict=False):
            if one.numbers != other.numbers:
                kinds.add("numbers")
            elif one.data != other.data:
                kinds.add("data")
            elif one.options != other.options:
                kinds.add("options")
        if len(mine) != len(theirs):
            kinds.add("numbers" if len(mine) > len(theirs) else "more")
    return next((each for each in ("options", "numbers", "more", "data") if each in kinds), "")
