"""Programs at this kernel in a namespace: many run at once, all are judged, none is left over."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace

import pytest

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.addresses import Range, Throttle, clients_of, leaves_a_mark
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.live.control import greet
from scapy_tfo.executor.live.engine import Engine
from scapy_tfo.executor.live.ports import Ports
from scapy_tfo.executor.play import Play
from scapy_tfo.option import FastOpen, find_fast_open
from scapy_tfo.oracle.counters import ACCEPTED, MISCOUNTS, REQUESTS
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import Cookie, Flow, Icmp, Option, Program, Send, Wait

PATIENCE = 20.0
"""Seconds, of a test for what others do in their time."""

MSS = Option("mss", 1460)
VALID = (MSS, Option("fo", cookie=Cookie()))
SPOILT = (MSS, Option("fo", cookie=Cookie(edits=(("flip", 3),))))
SOURCES = [ip_address(each) for each in ("192.0.2.16", "192.0.2.17", "fd00::16", "192.0.2.18")]


@pytest.fixture(scope="module")
def bench():
    try:
        opened = LiveBench.lab()
    except SetupError as error:
        pytest.skip(str(error))
    yield opened
    opened.close()


def _greeting(size=20, options=VALID, end="finish", **flow):
    return Program((Flow(**flow),), (Send(0, "S", size=size, options=options), Wait()), end)


def test_gets_to_know_the_kernel(bench):
    assert bench.profile.fast_open
    assert bench.profile.forms == {34, 254}
    assert bench.profile.options.mss[4] == {1460}
    assert bench.alive() == ""


@pytest.mark.parametrize("options", [VALID, SPOILT, (MSS,), (MSS, Option("fo"))])
@pytest.mark.parametrize("end", ["finish", "reset", "leave"])
def test_every_program_gets_one_verdict(bench, options, end):
    programs = [
        (number, _greeting(number % 50, options, end, family=family, client=number % 2))
        for number, family in enumerate(bench.families * 60)
    ]
    verdicts = list(bench.run(programs))
    assert sorted(number for number, _ in verdicts) == [number for number, _ in programs]
    assert [each.violations for _, each in verdicts] == [()] * len(programs)


def test_the_kernel_counts_what_was_sent(bench):
    before, again = bench.counters()["TCPFastOpenPassive"], bench.again
    list(bench.run((number, _greeting()) for number in range(100)))
    # A busy machine may answer some so late that they are run twice.
    assert bench.counters()["TCPFastOpenPassive"] == before + 100 + bench.again - again


@pytest.mark.parametrize("lie", [{ACCEPTED: -60}, {ACCEPTED: 60}, {REQUESTS: 60}])
def test_a_kernel_that_counted_wrong_would_be_told(bench, monkeypatch, lie):
    assert bench.alive() == ""
    counters = bench.counters()
    list(bench.run((number, _greeting()) for number in range(100)))
    rose = {name: value - counters[name] for name, value in bench.counters().items()}
    told = {name: counters[name] + by + lie.get(name, 0) for name, by in rose.items()}
    with monkeypatch.context() as patch:
        patch.setattr(bench, "_counters", lambda: told)
        assert bench.alive().startswith(MISCOUNTS)
    bench.alive()
    assert bench.alive() == ""


class TestAStackThatWasNeverRight:
    """Its fast open goes wrong from the beginning: that is for programs to show, and no death."""

    @pytest.fixture
    def wrong(self, bench, monkeypatch):
        def alone(program, _patience=None, run=bench._alone):
            play = run(program)
            if len(program.steps[0].options) == 1:
                return play
            violation = Violation("ACC-3", "takes-text", "SYN-RCVD", "syn-ack", 0, 0, "a", "b")
            return SimpleNamespace(verdict=lambda: replace(play.verdict(), violations=(violation,)))

        monkeypatch.setattr(bench, "_alone", alone)
        monkeypatch.setattr(bench._health, "_never_right", set())
        return bench

    def test_can_be_fuzzed(self, wrong, monkeypatch):
        monkeypatch.setattr(wrong._health, "_is_known", False)
        assert (wrong.alive(), wrong.alive()) == ("", "")

    def test_one_that_becomes_so_is_ill(self, wrong, monkeypatch):
        monkeypatch.setattr(wrong._health, "_is_known", True)
        assert wrong.alive().startswith("a valid fast open over IPv4 fails")


def test_flows_of_one_program_can_share_a_port(bench):
    program = Program(
        (Flow(), Flow(port="second", sport_of=0), Flow(client=1, sport_of=0)),
        (*(Send(each, "S", size=20, options=VALID) for each in range(3)), Wait()),
    )
    verdict, packets = bench.trace(program)
    assert verdict.violations == ()
    assert len({each.data[20:22] for each in packets if each.outbound}) == 1


def test_a_trace_has_the_packets_in_order(bench):
    verdict, packets = bench.trace(_greeting())
    assert verdict.sent == sum(each.outbound for each in packets)
    assert verdict.heard == len(packets) - verdict.sent
    assert [each.when for each in packets] == sorted(each.when for each in packets)
    assert packets[0].outbound
    assert not packets[1].outbound
    (granted,) = find_fast_open(bench.trace(_greeting(0, (MSS, Option("fo"))))[1][1].data[40:])
    assert isinstance(granted, FastOpen)


def test_a_program_that_waits_for_nothing_is_done_at_once(bench):
    program = Program((Flow(),), (Send(0, "S", options=(MSS,)),), "reset")
    assert [number for number, _ in bench.run([(3, program), (4, _greeting())])] == [3, 4]
    assert bench.trace(program)[0].violations == ()


def test_a_wait_lasts_while_others_go_on(bench):
    waiting = Program((Flow(),), (Send(0, "S", options=(MSS,)), Wait(2.0)), "reset")
    programs = [(0, waiting), *((number, _greeting()) for number in range(1, 30))]
    order = [number for number, _ in bench.run(programs)]
    assert order[-1] == 0


def test_what_is_against_the_model_is_run_again_before_it_is_believed(bench):
    # The model is told that this kernel does no fast open.
    usual = bench._usual.profile
    bench._usual.profile = replace(usual, fast_open=False)
    again, excused = bench.again, bench.excused
    try:
        ((_, verdict),) = bench.run([(7, _greeting())])
    finally:
        bench._usual.profile = usual
    assert verdict.violations
    assert (bench.again, bench.excused) == (again + 1, excused)


def test_what_the_target_does_not_have_is_not_judged(bench):
    ports = dict(bench._at.ports)
    second = bench._at.ports.pop("second")
    try:
        verdicts = dict(bench.run([(0, _greeting(port="second")), (1, _greeting())]))
    finally:
        bench._at.ports["second"] = second
    assert bench._at.ports == ports
    assert verdicts[0].unjudged
    assert not verdicts[1].unjudged


def test_programs_that_change_the_path_do_not_disturb_others(bench):
    narrow = Program(
        (Flow(),), (Send(0, "S", size=20, options=VALID), Wait(), Icmp(0, "too-big", mtu=600))
    )
    assert leaves_a_mark(narrow)
    list(bench.run([(0, narrow)]))
    assert bench.alive() == ""
    assert dict(bench.run([(1, _greeting())]))[1].violations == ()


def test_a_run_that_is_given_up_leaves_nothing_under_way(bench):
    run = bench.run((number, _greeting()) for number in range(500))
    next(run)
    run.close()
    assert len(bench._engine) == 0
    assert bench.alive() == ""


def test_volleys(bench):
    results = [bench.volley(seed, 256) for seed in range(0, 32, 4)]
    # On a busy host an answer may be late; what is wrong is for the model to say.
    suspects = [program for each in results for program, _ in each.suspects]
    assert [each.violations for _, each in bench.run(enumerate(suspects))] == [()] * len(suspects)
    assert sum(each.heard for each in results) > 128 * len(results)
    assert bench.alive() == ""


def test_what_was_left_behind_is_ended(bench):
    def established():
        pid = bench._close.__self__._started.process.pid
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
        return sum(line.split()[3] == "01" for line in lines)

    left = Program(
        (Flow(),),
        (Send(0, "S", size=20, options=VALID), Wait(), Send(0, ".", 21, "all"), Wait()),
        "leave",
    )

    def end():
        until = time.monotonic() + PATIENCE
        while established() and time.monotonic() < until:
            bench._engine._left = deque((0.0, ends) for _, ends in bench._engine._left)
            bench.trace(_greeting())
        return established()

    # Also what the tests before this one have left.
    assert end() == 0
    list(bench.run((number, left) for number in range(20)))
    # A program that was late is run again, and leaves another behind.
    assert established() >= 20
    assert end() == 0


def test_a_rate_is_kept():
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    throttle = Throttle(1000, lambda: now[0], sleep)
    for _ in range(100):
        throttle.take(50)
    # What may go at once is a tenth of a second's worth, and what is taken last is still owed.
    assert now[0] == pytest.approx(100 * 50 / 1000, abs=0.15)
    assert throttle.waited == pytest.approx(now[0])
    assert Throttle(None).delay() == 0.0


class FourPorts:
    """A batch that has few of them."""

    def __init__(self):
        self._left = [1, 2, 3, 4]

    def reserve_port(self, _source):
        if not self._left:
            raise SetupError("none is left")
        return self._left.pop(0)


def test_ports_rest_before_they_are_used_again():
    ports = Ports(FourPorts(), SOURCES[0])
    assert ports.take(3, now=0.0) == [1, 2, 3]
    assert ports.take(3, now=0.0) == [4]
    ports.give([2], now=1.0, rest=30.0)
    ports.give([3, 1], now=1.0, rest=5.0)
    assert ports.take(1, now=5.9) == []
    assert sorted(ports.take(9, now=6.0)) == [1, 3]
    assert ports.take(9, now=31.0) == [2]


def test_clients_are_the_first_sources_of_each_family():
    assert clients_of(SOURCES, (4, 6)) == {
        (4, 0): SOURCES[0],
        (4, 1): SOURCES[1],
        (6, 0): SOURCES[2],
    }
    assert clients_of(SOURCES, (4, 6), 2) == {(4, 0): SOURCES[3]}


class TestAControlHandshake:
    """It tells a target that cannot be judged, before programs blame it."""

    def test_succeeds_where_somebody_listens(self, bench):
        at = bench._at
        greet(at.batch, at.sources, at.addresses, at.ports["main"])

    def test_finds_a_closed_port(self, bench):
        at = bench._at
        with pytest.raises(TargetError, match="cannot be judged: the port is closed"):
            greet(at.batch, at.sources, at.addresses, at.ports["closed"])

    def test_finds_an_address_that_nobody_has(self, bench):
        at = bench._at
        with pytest.raises(TargetError, match="cannot be judged: no answer to a plain SYN"):
            greet(at.batch, at.sources, {4: ip_address("198.51.100.77")}, at.ports["main"])


class _Narrow:
    """A batch whose way takes 1,500 bytes, and from which nothing comes."""

    mtu = 1500

    def __init__(self):
        self.out = []
        self._ports = iter(range(40000, 50000))

    def reserve_port(self, _source):
        return next(self._ports)

    def exchange(self, packets):
        self.out += packets
        return []

    def wait(self, _seconds):
        return []


def test_what_is_over_the_mtu_is_not_sent_and_nobody_is_blamed():
    sources = clients_of(SOURCES[:2], (4,))
    batch = _Narrow()
    at = Range(batch, sources, {}, {4: ip_address("192.0.2.1")}, {"main": 7})
    engine = Engine(at, Throttle(None), ours=False)
    program = _greeting(1480, (MSS,))
    ends, taken = engine.place(program, sources, 0.0)
    play = Play(program, ends, Jar(), Profile(), Patience(), seed=1)
    engine.start(1, program, play, taken, 0.0)
    ((_, _, done),) = engine.turn(0.0)
    engine.flush()
    assert done.verdict().unjudged == "a packet of it is over the MTU of 1500 bytes"
    assert done.verdict().violations == ()
    assert all(len(each) <= 1500 for each in batch.out)
