"""One segment of a client's, for the tests of boxes and of what becomes of packets."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

from scapy_tfo.segment import SYN, Segment


def segment(**fields: Any) -> Segment:
    """A SYN, with other fields."""
    ends = {"src": IPv4Address("192.0.2.1"), "dst": IPv4Address("192.0.2.2")}
    return Segment(**{**ends, "sport": 4000, "dport": 80, "seq": 100, "flags": SYN, **fields})
