"""No case sends from a port that another may have: the target may hold what it left there."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from scapy_tfo import spec
from scapy_tfo.lab.memory.target import SOURCES, MemoryLink
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.segment import MalformedPacketError, Segment
from scapy_tfo.suite.registry import all_conversations
from scapy_tfo.wire.ports import PortPool

CLIENT = SOURCES[0]


@pytest.mark.parametrize("family", [4, 6])
def test_every_case_sends_from_ports_of_its_own(
    family: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign: list[str] = []
    held: set[tuple[object, int]] = set()
    reserve, release, send = MemoryLink.reserve_port, MemoryLink.release_port, MemoryLink.send

    def reserving(link: MemoryLink, source: object, port: int = 0) -> int:
        got = reserve(link, source, port)  # type: ignore[arg-type]
        held.add((source, got))
        return got

    def releasing(link: MemoryLink, source: object, port: int) -> None:
        release(link, source, port)  # type: ignore[arg-type]
        held.discard((source, port))

    def sending(link: MemoryLink, packet: bytes) -> None:
        try:
            segment = Segment.read_back(packet)
        except MalformedPacketError:
            pass
        else:
            if segment.src in SOURCES and (segment.src, segment.sport) not in held:
                foreign.append(f"{segment.src}:{segment.sport}")
        send(link, packet)

    monkeypatch.setattr(MemoryLink, "reserve_port", reserving)
    monkeypatch.setattr(MemoryLink, "release_port", releasing)
    monkeypatch.setattr(MemoryLink, "send", sending)
    catalogue = spec.load()
    for case in all_conversations():
        held.clear()
        simulate("sim:reference", [case], catalogue, Options(families=(family,), slow=True))
        assert not foreign, f"{case.id} sends from {foreign[0]}, which it has not reserved"


def test_a_port_that_was_asked_for_is_left_out_when_its_turn_comes() -> None:
    pool = PortPool(seed=5)
    first = pool.reserve(CLIENT)
    asked = pool.reserve(CLIENT, first + 2)
    pool.release(CLIENT, asked)
    assert [pool.reserve(CLIENT) for _ in range(2)] == [first + 1, first + 3]


def test_ports_that_were_asked_for_come_back_in_the_end() -> None:
    pool = PortPool(seed=5)
    for port in range(32768, 61000):
        pool.release(CLIENT, pool.reserve(CLIENT, port))
    assert pool.reserve(CLIENT) in range(32768, 61000)
    assert pool.reserve(ip_address("192.0.2.77")) in range(32768, 61000)
