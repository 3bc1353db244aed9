"""RFC 7413 section 4.1.3.1: a firewall that blocks a connection after it has passed its SYN."""

from __future__ import annotations

import random
from ipaddress import IPv4Address
from typing import Any

import pytest

from scapy_tfo.middleboxes.box import Box
from scapy_tfo.middleboxes.dropping import (
    BLOCKED_FOR,
    BlocksFlowAfterSynData,
    BlocksServerAfterSynData,
)
from scapy_tfo.segment import ACK, SYN, Segment

CLIENT, SERVER = IPv4Address("192.0.2.1"), IPv4Address("198.51.100.1")


def out(**fields: Any) -> bytes:
    """A packet of the client's."""
    given: dict[str, Any] = {"flags": SYN, "sport": 40000, "seq": 100} | fields
    return Segment(src=CLIENT, dst=SERVER, dport=80, **given).to_bytes()


def back(**fields: Any) -> bytes:
    """A packet of the server's."""
    given: dict[str, Any] = {"flags": SYN | ACK, "dport": 40000, "seq": 500, "ack": 105} | fields
    return Segment(src=SERVER, dst=CLIENT, sport=80, **given).to_bytes()


@pytest.mark.parametrize("box", [BlocksFlowAfterSynData, BlocksServerAfterSynData])
def test_the_syn_itself_passes_and_nothing_after_it(box: type[Box]) -> None:
    path = box(random.Random(1))
    syn = out(payload=b"data")
    assert [each.packet for each in path.from_client(syn, 0.0)] == [syn]
    assert not path.from_server(back(), 0.1)
    assert not path.from_client(syn, 1.0)
    assert not path.from_client(out(), 3.0)
    assert not path.from_client(out(flags=ACK, seq=105, ack=501), 4.0)
    assert path.from_client(syn, BLOCKED_FOR)


@pytest.mark.parametrize(
    ("box", "passes"), [(BlocksFlowAfterSynData, True), (BlocksServerAfterSynData, False)]
)
def test_the_next_connection(box: type[Box], passes: bool) -> None:
    path = box(random.Random(1))
    path.from_client(out(payload=b"data"), 0.0)
    assert bool(path.from_client(out(sport=40001), 1.0)) == passes
    assert bool(path.from_server(back(dport=40001), 1.1)) == passes


@pytest.mark.parametrize("box", [BlocksFlowAfterSynData, BlocksServerAfterSynData])
def test_a_syn_without_data_blocks_nothing(box: type[Box]) -> None:
    path = box(random.Random(1))
    assert path.from_client(out(), 0.0)
    assert path.from_server(back(), 0.1)
    assert path.from_client(out(flags=ACK, seq=101, ack=501, payload=b"data"), 0.2)
