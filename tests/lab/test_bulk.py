"""The target of campaigns echoes, keeps its ports apart, and survives bad connections."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from scapy_tfo import option as opt
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.bulk.target import BulkLab
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment

PATIENCE = 10.0


@pytest.fixture(scope="module")
def lab():
    try:
        started = BulkLab.start()
    except SetupError as error:
        pytest.skip(str(error))
    with started:
        yield started


@pytest.fixture(params=[4, 6])
def talk(lab, request):
    if request.param not in lab.addresses:
        pytest.skip("this kernel has no IPv6")
    return Talk(lab, request.param)


class Talk:
    """One source address, and a conversation at a time."""

    def __init__(self, lab, family):
        self.lab = lab
        self.target = lab.addresses[family]
        self.source = next(each for each in lab.batch.sources if each.version == family)

    def new(self, port="main"):
        self.sport = self.lab.batch.reserve_port(self.source)
        self.dport = self.lab.ports[port]

    def send(self, flags, seq, ack=0, options=(), payload=b""):
        segment = Segment(
            src=self.source,
            dst=self.target,
            sport=self.sport,
            dport=self.dport,
            seq=seq,
            ack=ack,
            flags=flags,
            options=opt.push_options(options),
            payload=payload,
        )
        self.unread = self.lab.batch.exchange([segment.to_bytes()])

    def hear(self):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            while self.unread:
                segment = Segment.from_bytes(self.unread.pop(0))
                if segment.dport == self.sport and segment.dst == self.source:
                    return segment
            self.unread = self.lab.batch.wait(0.1)
        raise AssertionError("no answer")

    def cookie(self):
        self.new()
        self.send(SYN, 0, options=[opt.fast_open()])
        answer = self.hear()
        self.send(RST, 1)
        return answer.cookie


def test_echoes_a_fast_open_and_closes_at_the_end_of_the_stream(talk):
    cookie = talk.cookie()
    talk.new()
    talk.send(SYN, 100, options=[opt.fast_open(cookie)], payload=b"hello")
    answer = talk.hear()
    assert (answer.flags, answer.ack) == (SYN | ACK, 106)
    echo = talk.hear()
    assert (echo.flags, echo.payload) == (PSH | ACK, b"hello")
    talk.send(ACK | FIN, 106, echo.end)
    last = talk.hear()
    while not last.is_fin:
        last = talk.hear()
    assert (last.flags, last.seq, last.ack) == (ACK | FIN, echo.end, 107)
    talk.send(ACK, 107, last.end)


@pytest.mark.parametrize(
    ("port", "flags", "granted"),
    [
        ("main", SYN | ACK, True),
        ("second", SYN | ACK, True),
        ("small", SYN | ACK, True),
        ("plain", SYN | ACK, False),
        ("closed", RST | ACK, False),
    ],
)
def test_ports(talk, port, flags, granted):
    talk.new(port)
    talk.send(SYN, 7, options=[opt.fast_open()])
    answer = talk.hear()
    assert (answer.flags, answer.ack, bool(answer.cookie)) == (flags, 8, granted)
    talk.send(RST, 8)


def test_outlives_thousands_of_half_open_and_reset_connections(lab, talk):
    cookie = talk.cookie()
    valid = [opt.fast_open(cookie)]
    opened = lab.counters()["TCPFastOpenPassive"]
    for number in range(3000):
        talk.new()
        talk.send(SYN, number, options=valid if number % 3 else (), payload=b"x")
        if number % 2:
            talk.send(RST, number + 2)
    assert lab.counters()["TCPFastOpenPassive"] == opened + 2000
    assert lab.ails() == ""
    test_echoes_a_fast_open_and_closes_at_the_end_of_the_stream(talk)


def test_echo_waits_for_a_client_that_does_not_read(talk):
    cookie = talk.cookie()
    talk.new()
    talk.send(SYN, 0, options=[opt.fast_open(cookie)], payload=b"a")
    talk.hear()
    echo = talk.hear()
    sent, chunk = 2, bytes(1400)
    for _ in range(2000):
        # Not acknowledged, what comes back fills the target's buffers in the end.
        talk.send(ACK | PSH, sent, echo.seq, payload=chunk)
        sent += len(chunk)
    talk.send(RST, sent, echo.seq)
    test_echoes_a_fast_open_and_closes_at_the_end_of_the_stream(talk)


def test_counters(lab, talk):
    # Bursts of the tests before overflow the queue of an ordinary user's device.
    lost = lab.batch.lost()
    before = lab.counters()
    talk.cookie()
    after = lab.counters()
    assert after["TCPFastOpenCookieReqd"] == before["TCPFastOpenCookieReqd"] + 1
    assert lab.batch.lost() == lost


def test_a_target_that_has_ended():
    try:
        lab = BulkLab.start()
    except SetupError as error:
        pytest.skip(str(error))
    with lab:
        assert lab.ails() == ""
        lab._started.process.kill()
        lab._started.process.wait()
        assert "ended" in lab.ails()


def test_an_unknown_sysctl():
    with pytest.raises(SetupError):
        BulkLab.start({"net.ipv4.no_such": "1"})


RUN = """
import sys, time
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.bulk.target import BulkLab
try:
    lab = BulkLab.start()
except SetupError as error:
    print("skip", error, flush=True)
    sys.exit()
print("ready", lab._started.process.pid, flush=True)
time.sleep(60)
"""


def test_nothing_is_left_when_killed():
    process = subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True)
    said, _, rest = process.stdout.readline().strip().partition(" ")
    if said == "skip":
        process.wait()
        pytest.skip(rest)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    until = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{rest}/ns/net"):
        assert time.monotonic() < until
        time.sleep(0.01)
