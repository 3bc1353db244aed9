"""Finds the IP packet in a captured frame, whatever its link layer (LINKTYPE_ numbers)."""

from __future__ import annotations

_NULL, _ETHERNET, _LOOP, _SLL, _SLL2 = 0, 1, 108, 113, 276
_RAW = frozenset({12, 14, 101, 228, 229})
_IP = frozenset({0x0800, 0x86DD})
_TAGS = frozenset({0x8100, 0x88A8, 0x9100})

_TO_US, _FROM_US = 0, 4
"""Packet types of cooked captures."""

KNOWN = "Ethernet, Linux cooked, raw IP and loopback"


class UnknownLinkError(ValueError):
    """A link type that is not read here; the message says which are."""


def ip_packet(link: int, frame: bytes) -> bytes | None:
    """The IP packet, with what may be filled up behind it; None where the frame holds none.

    link: of pcap's LINKTYPE_ numbers. VLAN tags are passed over. Raises UnknownLinkError.
    """
    if link in _RAW:
        return _if_ip(frame)
    if link in (_NULL, _LOOP):
        # The address family in the byte order and the numbers of whoever captured it.
        return _if_ip(frame[4:])
    if link == _ETHERNET:
        return _behind_type(frame, 12, 14)
    if link == _SLL:
        return _behind_type(frame, 14, 16)
    if link == _SLL2:
        return _behind_type(frame, 0, 20)
    raise UnknownLinkError(f"its link type is {link}: known are {KNOWN}")


def sent_from_here(link: int, frame: bytes) -> bool | None:
    """Whether the host that captured a frame sent it; None where the link layer does not say."""
    if link == _SLL and len(frame) >= 2:
        kind = int.from_bytes(frame[:2], "big")
    elif link == _SLL2 and len(frame) >= 11:
        kind = frame[10]
    else:
        return None
    return {_TO_US: False, _FROM_US: True}.get(kind)


def _behind_type(frame: bytes, at: int, start: int) -> bytes | None:
    """at: of the EtherType. start: of what it is the type of."""
    kind = int.from_bytes(frame[at : at + 2], "big")
    while kind in _TAGS and len(frame) >= start + 4:
        kind = int.from_bytes(frame[start + 2 : start + 4], "big")
        start += 4
    return _if_ip(frame[start:]) if kind in _IP else None


def _if_ip(packet: bytes) -> bytes | None:
    return packet if packet and packet[0] >> 4 in (4, 6) else None
