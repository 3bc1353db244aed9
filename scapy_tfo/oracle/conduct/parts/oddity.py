"""The one thing in which a segment differs from what any stack takes without a thought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.parts.came import options_of
from scapy_tfo.oracle.conduct.parts.place import Place
from scapy_tfo.segment import ACK, FIN, RST, SYN, URG, Segment

_DEFINED = {0, 1, *range(2, 9), 14, 15, 19, 27, 28, 29, 30, 34, 69, 172, 174, 253, 254}
"""Kinds of options that some stack may act upon."""


class Reset(Enum):
    """What is special about a RST. CLOSED: it comes to a closed window. TIMES: its timestamp is
    old."""

    ALONE = auto()
    TEXT = auto()
    FIN = auto()
    CLOSED = auto()
    TIMES = auto()


class Oddity(Enum):
    """URGENT: it has URG. RESERVED: reserved bits. OPTION: an option of a kind that nobody defined.
    TIMES: timestamps that were not agreed on. NO_ACK: it lacks the ACK flag. CHECKSUM: it has a
    wrong one. AHEAD: it acknowledges what was not sent. KEEPALIVE: it is empty, and one number
    back. RESET: it is a RST inside of the window, and not at the next number."""

    URGENT = auto()
    RESERVED = auto()
    OPTION = auto()
    TIMES = auto()
    NO_ACK = auto()
    CHECKSUM = auto()
    AHEAD = auto()
    KEEPALIVE = auto()
    RESET = auto()


def oddity(
    segment: Segment, place: Place, is_plain: Callable[[Segment, Place], bool]
) -> Oddity | None:
    """The one thing, of text in its turn that fits the window, or of an empty segment.

    is_plain: says whether a segment is what any stack takes. None: there is another one, or more.
    """
    if segment.flags & ~ACK == RST and not segment.payload and place.edge is not None:
        inside = place.open and place.taken == place.next < place.start < place.edge
        return Oddity.RESET if inside else None
    if segment.flags & (SYN | RST):
        return None
    if not place.length:
        back = place.start == place.next - 1 == place.taken - 1
        is_odd = (
            back and place.ack == place.end and is_plain(segment, replace(place, next=place.start))
        )
        return Oddity.KEEPALIVE if is_odd else None
    edge = place.next if place.edge is None else place.edge
    if place.start != place.next or place.start + place.length > edge or not segment.payload:
        return None
    for kind, mended, known in _mended(segment, place):
        if is_plain(mended, known):
            return kind
    return None


def _mended(segment: Segment, place: Place) -> list[tuple[Oddity, Segment, Place]]:
    """The segment without each thing that it may be odd by."""
    found = []
    if segment.flags & URG:
        found.append((Oddity.URGENT, replace(segment, flags=segment.flags & ~URG, urgent=0), place))
    if segment.reserved:
        found.append((Oddity.RESERVED, replace(segment, reserved=0), place))
    if segment.checksum is not None:
        found.append((Oddity.CHECKSUM, replace(segment, checksum=None), place))
    if not segment.flags & ACK:
        known = replace(place, ack=place.una)
        found.append((Oddity.NO_ACK, replace(segment, flags=segment.flags | ACK), known))
    elif place.ack is not None and place.ack > max(place.end, place.limit or 0):
        found.append((Oddity.AHEAD, segment, replace(place, ack=place.end)))
    every = options_of(segment.options).every
    if all(each.is_sound for each in every):
        strange = [each for each in every if each.kind in _DEFINED]
        times = [each for each in every if each.kind != opt.TIMESTAMPS]
        for kind, left in ((Oddity.OPTION, strange), (Oddity.TIMES, times)):
            if len(left) < len(every):
                block = opt.padded(opt.push_options(left))
                found.append((kind, replace(segment, options=block), place))
    return found


def kind_of_reset(segment: Segment, place: Place) -> Reset:
    """What is special about one that ends the connection."""
    if segment.payload:
        return Reset.TEXT
    if segment.flags & FIN:
        return Reset.FIN
    return Reset.CLOSED if place.edge == place.next else Reset.ALONE
