"""Reads a frame as the rules need it, and says what cannot be known of it."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum, auto
from typing import NamedTuple

from scapy_tfo.address import Address
from scapy_tfo.capture.connections import End, quoted_ends
from scapy_tfo.capture.link_types import ip_packet, sent_from_here
from scapy_tfo.capture.reader import Frame
from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import PROTOCOL_TCP, MalformedPacketError, Segment, internet_checksum
from scapy_tfo.values import value

_OWN = re.compile(
    r"(?:sent by|for) (\S+ \[ipv[46]\](?:, attempt \d+)?|control \w+|search for|no case\b)"
)
_LARGEST = 0xFFFF


class View(NamedTuple):
    """Where a packet was captured. place: the end of the connection that captured it, None where
    the file does not say. case: of this project's own captures, or ""."""

    interface: int
    place: Address | None
    case: str


class State(Enum):
    """Of a segment: as it was sent, cut short by the snap length, or changed on the way."""

    SOUND = auto()
    CUT = auto()
    SPOILED = auto()


@value(frozen=True, slots=True)
class Seen:
    """A segment, or an ICMP error about one. at: seconds. An error goes to whom it is about."""

    number: int
    at: float
    src: End
    dst: End
    what: Segment | IcmpError
    view: View
    state: State = State.SOUND


@value(frozen=True, slots=True)
class Unread:
    """TCP between two addresses that cannot be read: a fragment, a header cut short."""

    src: bytes
    dst: bytes


def read(frame: Frame) -> Seen | Unread | None:
    """What of a frame is TCP; None for anything else. Raises UnknownLinkError."""
    packet = ip_packet(frame.link, frame.data)
    if packet is None:
        return None
    outbound = frame.outbound
    if outbound is None:
        outbound = sent_from_here(frame.link, frame.data)
    try:
        segment = Segment.from_bytes(_whole(packet) + bytes(frame.missing))
    except MalformedPacketError:
        return _unread(packet) if _is_tcp(packet) else _read_error(frame, packet, outbound)
    if frame.missing and not _has_whole_header(packet):
        return _unread(packet)
    state = State.SOUND
    if frame.missing:
        state = State.CUT
    elif segment.checksum is not None and segment.checksum != _partial(segment):
        state = State.SPOILED
    src, dst = End(segment.src, segment.sport), End(segment.dst, segment.dport)
    view = _view(frame, src.address, dst.address, outbound)
    segment = segment if segment.checksum is None else replace(segment, checksum=None)
    return Seen(frame.number, frame.when / 1e9, src, dst, segment, view, state)


def _read_error(frame: Frame, packet: bytes, outbound: bool | None) -> Seen | None:
    error = IcmpError.from_bytes(packet)
    ends = quoted_ends(error) if error is not None else None
    if error is None or ends is None:
        return None
    dst, src = ends
    view = _view(frame, error.src, error.dst, outbound)
    return Seen(frame.number, frame.when / 1e9, src, dst, error, view)


def _is_tcp(packet: bytes) -> bool:
    return packet[9 if packet[0] >> 4 == 4 else 6 :][:1] == bytes([PROTOCOL_TCP])


def _view(frame: Frame, src: Address, dst: Address, outbound: bool | None) -> View:
    own = _OWN.match(frame.comment) if frame.comment else None
    place = None if outbound is None else src if outbound else dst
    return View(frame.interface, place, own[1] if own else "")


def _whole(packet: bytes) -> bytes:
    """With its length filled in, where that was left to the interface (0, in IPv4)."""
    if packet[0] >> 4 == 4 and packet[2:4] == b"\0\0" and len(packet) <= _LARGEST:
        return packet[:2] + len(packet).to_bytes(2, "big") + packet[4:]
    return packet


def _has_whole_header(packet: bytes) -> bool:
    if not _is_tcp(packet):
        return False
    start = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
    return len(packet) >= start + 20 and len(packet) >= start + (packet[start + 12] >> 4) * 4


def _unread(packet: bytes) -> Unread:
    if packet[0] >> 4 == 4:
        return Unread(packet[12:16], packet[16:20])
    return Unread(packet[8:24], packet[24:40])


def _partial(segment: Segment) -> int:
    """The checksum field where computing it was left to an interface: the sum of the pseudo header
    alone, not inverted."""
    size = 20 + len(segment.options) + len(segment.payload)
    pseudo = segment.src.packed + segment.dst.packed + size.to_bytes(4, "big")
    return ~internet_checksum(pseudo + PROTOCOL_TCP.to_bytes(4, "big")) & 0xFFFF
