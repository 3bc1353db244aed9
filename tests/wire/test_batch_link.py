"""A link as a batch uses asyncio inside, and shows none of it outside."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from scapy_tfo.wire.links.batch_link import LinkBatch


class EchoLink:
    """Gives back what is sent, in upper case: at once, or after so many seconds."""

    sources = (ip_address("192.0.2.16"),)
    mtu = 100
    is_local = False

    def __init__(self, delay=0.0):
        self.closed = 0
        self.prepared = False
        self._delay = delay

    def start(self, receive):
        self._receive = receive
        self._loop = asyncio.get_running_loop()

    async def prepare(self):
        self.prepared = True

    def send(self, packet):
        self._loop.call_later(self._delay, self._receive, packet.upper(), 0.0)

    def reserve_port(self, _source, port=0):
        return port or 7

    def release_port(self, _source, _port):
        pass

    def close(self):
        self.closed += 1


@pytest.fixture
def batch():
    opened = LinkBatch(EchoLink())
    yield opened
    opened.close()


def test_is_ready_when_made(batch):
    assert batch._link.prepared
    assert batch.sources == EchoLink.sources
    assert not batch.is_local


def test_gives_what_came_in_order(batch):
    came = batch.exchange([b"one", b"two"])
    assert (came or batch.wait(5)) == [b"ONE", b"TWO"]
    assert batch.wait(0) == []


def test_waits_for_what_comes_later():
    batch = LinkBatch(EchoLink(delay=0.01))
    assert batch.exchange([b"late"]) == []
    assert batch.wait(5) == [b"LATE"]
    batch.close()


def test_what_is_over_the_mtu_is_lost(batch):
    batch.exchange([bytes(101)])
    assert batch.lost() == 1


def test_closes_its_link_once(batch):
    batch.close()
    batch.close()
    assert batch._link.closed == 1
