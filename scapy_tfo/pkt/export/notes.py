"""Reads what a capture tells of itself: the cookies in it, and the comments on its packets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scapy_tfo.capture.connections import Connection
from scapy_tfo.segment import Segment

_LONGEST_REMARK = 500
_VERDICT = re.compile(r"(?:^|; )([A-Z]{4,}: .*)", re.DOTALL)


def cookies(connections: Iterable[Connection]) -> dict[bytes, str]:
    """Every cookie that a server gave, and the first flow in which it did."""
    found: dict[bytes, str] = {}
    for connection in connections:
        for packet in connection.packets:
            segment = packet.what
            if isinstance(segment, Segment) and segment.is_syn_ack and segment.cookie:
                found.setdefault(segment.cookie, connection.flow)
    return found


def verdict(connections: Iterable[Connection]) -> str:
    """What a run's capture says of its case, `FAIL: why`; "" where nothing."""
    for connection in connections:
        for packet in connection.packets:
            told = _VERDICT.search(packet.note)
            if told:
                return told[1]
    return ""


def remark(note: str) -> str:
    """A note as a comment; what the case's verdict was is no remark of one packet."""
    text = " ".join(_VERDICT.sub("", note).split())[:_LONGEST_REMARK]
    plain = "".join(sign if sign.isprintable() else "?" for sign in text)
    return f"// {plain}" if plain else ""
