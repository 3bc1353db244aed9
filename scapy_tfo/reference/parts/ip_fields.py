"""What a host writes into the IP headers of its segments, beside what TCP asks for."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from typing import Protocol

from scapy_tfo.segment import Segment

_ECN = 0x03


class Choices(Protocol):
    """The settings that are used here (see `Settings`)."""

    @property
    def ttl(self) -> int: ...

    @property
    def dscp(self) -> int: ...

    @property
    def ip_ids(self) -> str: ...

    @property
    def flow_labels(self) -> bool: ...


class IpFields:
    """Dresses segments in TTL, DSCP, IP ID and flow label."""

    def __init__(self, choices: Choices, dice: random.Random) -> None:
        self._choices = choices
        self._dice = dice
        self._next = 0

    def dress(self, segment: Segment) -> Segment:
        """The segment as it goes out."""
        own = self._choices
        ipv4 = segment.src.version == 4
        return replace(
            segment,
            hop_limit=own.ttl,
            traffic_class=own.dscp << 2 | segment.traffic_class & _ECN,
            ip_id=self._ip_id() if ipv4 else 0,
            flow_label=self._label(segment) if own.flow_labels and not ipv4 else 0,
        )

    def _ip_id(self) -> int:
        if self._choices.ip_ids == "random":
            return self._dice.getrandbits(16)
        if self._choices.ip_ids == "counted":
            self._next = (self._next + 1) % (1 << 16)
            return self._next
        return 0

    @staticmethod
    def _label(segment: Segment) -> int:
        """One for each flow, never 0 (RFC 6437 section 3)."""
        ports = segment.sport.to_bytes(2, "big") + segment.dport.to_bytes(2, "big")
        return zlib.crc32(segment.src.packed + segment.dst.packed + ports) % 0xFFFFF + 1
