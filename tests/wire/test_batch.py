"""Packets in batches, over a pair of sockets that keep packets apart as a TUN device does."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.wire.links.batch import TunBatch

SOURCES = (ip_address("192.0.2.16"), ip_address("fd00:7413::10"))


@pytest.fixture
def pair():
    """A batch, and the target's end of its way."""
    ours, target = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    target.setblocking(False)
    batch = TunBatch(ours.detach(), SOURCES, 1500, queue=40)
    yield batch, target
    batch.close()
    target.close()


def test_sends_in_order_and_returns_what_came_by_then(pair):
    batch, target = pair
    target.send(b"first")
    target.send(b"second")
    assert batch.exchange([b"one", b"two"]) == [b"first", b"second"]
    assert [target.recv(100), target.recv(100)] == [b"one", b"two"]


def test_waits_no_longer_than_for_the_first(pair):
    batch, target = pair
    target.send(b"here")
    assert batch.wait(60) == [b"here"]
    assert batch.wait(0) == []


def test_reads_in_between_before_the_queue_is_full(pair):
    batch, target = pair

    def packets():
        for number in range(3 * batch.room):
            # What is unread is never more than `room`, or this would fail at 40.
            target.send(b"answer %d" % number)
            yield b"probe %d" % number

    came = batch.exchange(packets())
    assert came == [b"answer %d" % number for number in range(3 * batch.room)]


def test_what_does_not_fit_into_the_way_is_lost_and_counted(pair):
    batch, target = pair
    sent = 4096
    batch.exchange([bytes(1400)] * sent)
    received = 0
    try:
        while target.recv(2000):
            received += 1
    except BlockingIOError:
        pass
    assert 0 < received < sent
    assert batch.lost() == sent - received


def test_a_way_that_is_gone_is_told_as_such(pair):
    batch, _ = pair
    os.close(batch._fd)
    with pytest.raises(TargetError, match="gone"):
        batch.exchange([b"x"])
    batch._fd = -1


def test_ports_are_nobody_elses(pair):
    batch, _ = pair
    first, second = (batch.reserve_port(SOURCES[0]) for _ in range(2))
    assert first != second
    batch.release_port(SOURCES[0], first)


def test_closed_twice(pair):
    batch, _ = pair
    batch.close()
    batch.close()
