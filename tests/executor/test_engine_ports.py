"""The ports that flows of live programs get, and those that they share."""

from __future__ import annotations

import socket
import time
from ipaddress import ip_address

from scapy_tfo.errors import SetupError
from scapy_tfo.executor.live.addresses import Range, Throttle, clients_of
from scapy_tfo.executor.live.engine import Engine
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import Flow, Option, Program, Send, Wait
from scapy_tfo.wire.links.batch_link import LinkBatch
from scapy_tfo.wire.links.choose import open_link

PATIENCE = 20.0
"""Seconds, of a test for what others do in their time."""

MSS = Option("mss", 1460)
SOURCES = [ip_address("192.0.2.16"), ip_address("192.0.2.17")]


class Held:
    """A batch with so many ports for all sources, which tells which are held."""

    mtu = 1500

    def __init__(self, most=1 << 16, others=()):
        self.held = set(others)
        self.most = most

    def reserve_port(self, source, port=0):
        port = port or next(n for n in range(1, 1 << 16) if (source, n) not in self.held)
        if (source, port) in self.held or len(self.held) >= self.most:
            raise SetupError("in use")
        self.held.add((source, port))
        return port

    def release_port(self, source, port):
        self.held.remove((source, port))


SHARED = Program((Flow(), Flow(client=1, sport_of=0), Flow(port="second", sport_of=0)), (), "reset")


def _engine(batch, sources=SOURCES, target="192.0.2.1", port=7):
    ports = {"main": port, "second": port + 1}
    at = Range(batch, clients_of(sources, (4,)), {}, {4: ip_address(target)}, ports)
    return Engine(at, Throttle(None), ours=False)


def test_a_shared_port_is_held_at_each_source():
    batch = Held()
    engine = _engine(batch)
    ends, taken = engine.place(SHARED, engine.at.sources, 0.0)
    assert len({each.sport for each in ends}) == 1
    assert batch.held == {(ip_address(each.client), each.sport) for each in ends}
    assert len(taken) == 2
    # Nobody else gets it before it has rested.
    other, _ = engine.place(Program((Flow(client=1),), ()), engine.at.sources, 0.0)
    assert other[0].sport != ends[0].sport


def test_a_shared_port_is_one_that_no_other_program_has():
    batch = Held(others=[(SOURCES[1], 1)])
    engine = _engine(batch)
    (busy,), _ = engine.place(Program((Flow(client=1),), ()), engine.at.sources, 0.0)
    ends, _ = engine.place(SHARED, engine.at.sources, 0.0)
    assert {each.sport for each in ends}.isdisjoint({1, busy.sport})
    # What was tried in vain is there for the next one.
    assert engine.place(Program((Flow(),), ()), engine.at.sources, 0.0)[0][0].sport == 1


def test_a_shared_port_is_found_where_no_more_ports_can_be_held():
    batch = Held(others=[(SOURCES[1], 1), (SOURCES[1], 2)])
    engine = _engine(batch)
    second = Program((Flow(client=1),), ())
    (one, taken), (two, other) = (engine.place(second, engine.at.sources, 0.0) for _ in range(2))
    batch.held -= {(SOURCES[1], 1), (SOURCES[1], 2)}
    batch.most = 3
    assert {one[0].sport, two[0].sport} == {3, 4}
    assert engine.place(SHARED, engine.at.sources, 0.0) == ([], [])
    engine._give(taken + other, 0.0, 1.0)
    tries = [engine.place(SHARED, engine.at.sources, 2.0)[0] for _ in range(2)]
    assert any(tries)


def test_a_second_client_with_the_same_port_is_heard_on_this_host():
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = open_link(ip_address("127.0.0.1"))
        batch = LinkBatch(link)
        try:
            engine = _engine(batch, link.sources, "127.0.0.1", server.getsockname()[1])
            flows = (Flow(), Flow(client=1, sport_of=0))
            opened = (Send(0, "S", options=(MSS,)), Send(1, "S", options=(MSS,)), Wait())
            program = Program(flows, opened, "reset")
            ends, taken = engine.place(program, engine.at.sources, time.monotonic())
            play = Play(program, ends, Jar(), Profile(), Patience(answer=PATIENCE), seed=1)
            engine.start(1, program, play, taken, time.monotonic())
            while not play.done:
                list(engine.turn(0.1))
            engine.flush()
        finally:
            batch.close()
    assert play.verdict().violations == ()
    assert [each.evidence.heard for each in play.links] == [["syn-ack"], ["syn-ack"]]
