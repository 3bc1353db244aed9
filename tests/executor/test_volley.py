"""Volleys are the same for the same seed, can be written as programs, and find wrong answers."""

from __future__ import annotations

import random
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo.executor.live.addresses import Range
from scapy_tfo.executor.live.ports import Ports
from scapy_tfo.executor.live.volley import CHUNK, LEAST_CHUNK, Volleys
from scapy_tfo.executor.live.volley_recipes import cook
from scapy_tfo.executor.live.volley_shapes import FLAGS, PORTS, SIZES, draw
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.packet import Ends, build
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import check, dumps, loads
from scapy_tfo.segment import ACK, RST, SYN, Segment

SOURCES = {
    (family, number): ip_address(text)
    for family, texts in {4: ("192.0.2.16", "192.0.2.17"), 6: ("fd00::16", "fd00::17")}.items()
    for number, text in enumerate(texts)
}
TARGETS = {4: ip_address("192.0.2.1"), 6: ip_address("fd00::1")}
NUMBERS = {"main": 1, "second": 2, "plain": 3, "small": 4, "closed": 5}
COOKIES = {client: bytes([at + 1] * 8) for at, client in enumerate(SOURCES)}
LINUX = Profile(forms=frozenset((opt.TFO, opt.EXPERIMENT_2)))


def _jar():
    jar = Jar()
    for client, cookie in COOKIES.items():
        jar.grant(client, cookie, 0.0)
    return jar


def _reply(segment, flags, seq, ack, options=()):
    return Segment(
        src=segment.dst,
        dst=segment.src,
        sport=segment.dport,
        dport=segment.sport,
        seq=seq,
        ack=ack & 0xFFFFFFFF,
        flags=flags,
        options=opt.push_options(options),
    ).to_bytes()


class Server:
    """A batch and the server behind it: it does what it must, but for what a test makes wrong."""

    mtu, is_local, room = 1500, True, 4096
    sources = tuple(SOURCES.values())

    def __init__(self, answer=None):
        self.sent = []
        self._answer = answer or (lambda _server, segment: self.right(segment))
        self._port = 20000

    def reserve_port(self, _source):
        self._port += 1
        return self._port

    def release_port(self, _source, _port):
        pass

    def lost(self):
        return 0

    def wait(self, _seconds):
        return []

    def close(self):
        pass

    def exchange(self, packets):
        came = []
        for packet in packets:
            self.sent.append(packet)
            segment = Segment.from_bytes(packet)
            if segment.flags & SYN:
                answer = self._answer(self, segment)
                if answer is not None:
                    came.append(answer)
        return came

    def cookie_of(self, segment):
        return COOKIES[next(each for each, at in SOURCES.items() if at == segment.src)]

    def right(self, segment):
        """As a server does that takes kinds 34 and 254, and drops what is malformed."""
        if segment.flags & RST:
            return None
        if segment.flags & ACK:
            return _reply(segment, RST, segment.ack, 0)
        if segment.dport == NUMBERS["closed"]:
            return _reply(segment, RST | ACK, 0, segment.end)
        raw = opt.pull_options(segment.options)
        if segment.is_fin or any(not each.is_sound for each in raw):
            return None
        own = self.cookie_of(segment)
        valid = [each for each in segment.fast_open if isinstance(each, opt.FastOpen)]
        known = [each for each in valid if each.form != opt.EXPERIMENT_1]
        options, taken = [], 0
        if known and segment.dport != NUMBERS["plain"]:
            last = known[-1]
            if last.cookie == own:
                taken = len(segment.payload)
            else:
                options = [opt.fast_open(own, form=last.form)]
        return _reply(segment, SYN | ACK, 77, segment.seq + 1 + taken, options)


def _fire(server, seeds, *, profile=LINUX, size=256):
    at = Range(server, SOURCES, {}, TARGETS, NUMBERS)
    ports = {source: Ports(server, source) for source in SOURCES.values()}
    volleys = Volleys(at, _jar(), profile, ports, lambda _: None, patience=0.0)
    return [volleys.fire(seed, size) for seed in seeds]


def test_a_right_server_is_never_suspected():
    server = Server()
    for result in _fire(server, range(0, 40, 2)):
        assert result.suspects == []
        assert result.sent == 256
        assert result.heard > 128


class WithRoomForFew(Server):
    """Drops what comes at once over so many SYNs, but for those that were reset meanwhile."""

    most = 60

    def exchange(self, packets):
        syns = [each for each in packets if Segment.from_bytes(each).flags & SYN]
        dropped = set(syns[self.most :])
        return super().exchange([each for each in packets if each not in dropped])


def test_no_more_syns_go_at_once_than_the_target_has_room_for():
    server = WithRoomForFew()
    at = Range(server, SOURCES, {}, TARGETS, NUMBERS)
    ports = {source: Ports(server, source) for source in SOURCES.values()}
    volleys = Volleys(at, _jar(), LINUX, ports, lambda _: None, patience=0.01, chunk=LEAST_CHUNK)
    chunks, again = [], []
    for seed in range(12):
        again.append(volleys.fire(seed, 256).again)
        chunks.append(volleys.chunk)
    assert set(chunks[4:]) == {64}
    assert again[0] == 0
    assert max(again[5:]) <= 256 // 16


def test_a_fault_that_is_a_silence_does_not_make_volleys_slow():
    """However few SYNs go at once, a stack that drops some of them does so."""
    server = Server(lambda server, segment: server.right(segment) if segment.sport % 4 else None)
    at = Range(server, SOURCES, {}, TARGETS, NUMBERS)
    ports = {source: Ports(server, source) for source in SOURCES.values()}
    volleys = Volleys(at, _jar(), LINUX, ports, lambda _: None, patience=0.01, chunk=LEAST_CHUNK)
    for seed in range(6):
        volleys.fire(seed, 256)
    assert volleys.chunk == CHUNK


def test_whatever_was_opened_is_ended():
    server = Server()
    _fire(server, [1])
    opened, ended = set(), set()
    for packet in server.sent:
        segment = Segment.from_bytes(packet)
        ends = segment.src, segment.sport
        if segment.flags & SYN:
            answer = server.right(segment)
            if answer is not None and not Segment.from_bytes(answer).is_rst:
                opened.add((*ends, Segment.from_bytes(answer).ack))
        elif segment.is_rst:
            ended.add((*ends, segment.seq))
    assert opened == ended


def _spoil(change):
    def answer(server, segment):
        right = server.right(segment)
        return right if right is None else change(segment, Segment.from_bytes(right))

    return answer


def _acknowledge_all(segment, right):
    if not right.is_syn_ack:
        return right.to_bytes()
    return _reply(segment, SYN | ACK, right.seq, segment.end)


def _acknowledge_less(segment, right):
    taken = right.ack - segment.seq - 1 & 0xFFFFFFFF
    if not right.is_syn_ack or not 2 <= taken <= 500:
        return right.to_bytes()
    return _reply(segment, SYN | ACK, right.seq, right.ack - 1)


def _other_cookie(segment, right):
    if right.cookie is None:
        return right.to_bytes()
    return _reply(segment, SYN | ACK, right.seq, right.ack, [opt.fast_open(bytes(8))])


def _no_cookie(segment, right):
    return _reply(segment, right.flags, right.seq, right.ack)


def _two_forms(segment, right):
    if right.cookie is None:
        return right.to_bytes()
    both = [opt.fast_open(right.cookie), opt.fast_open(right.cookie, form=opt.Form.EXPERIMENT_2)]
    return _reply(segment, right.flags, right.seq, right.ack, both)


def _scale(segment, right):
    if not right.is_syn_ack:
        return right.to_bytes()
    return _reply(segment, right.flags, right.seq, right.ack, [opt.window_scale(7)])


def _reset(segment, _right):
    return _reply(segment, RST | ACK, 0, segment.end)


def _bad_checksum(_segment, right):
    packet = bytearray(right.to_bytes())
    packet[-1] ^= 1
    return bytes(packet)


@pytest.mark.parametrize(
    "change",
    [
        _acknowledge_all,
        _acknowledge_less,
        _other_cookie,
        _no_cookie,
        _two_forms,
        _scale,
        _reset,
        _bad_checksum,
        lambda *_: None,
    ],
)
def test_a_wrong_server_is_suspected(change):
    results = _fire(Server(_spoil(change)), range(0, 12, 4))
    suspects = [each for result in results for each in result.suspects]
    assert suspects
    for program, why in suspects:
        check(program)
        assert why
        assert loads(dumps(program)) == program


def test_answers_where_none_may_be_are_suspected():
    def answer(server, segment):
        return server.right(segment) or _reply(segment, SYN | ACK, 5, segment.seq + 1)

    results = _fire(Server(answer), range(0, 12, 4))
    assert any(
        "S" in program.steps[0].flags for result in results for program, _ in result.suspects
    )


def test_what_is_lost_once_is_sent_again():
    seen = set()

    def answer(server, segment):
        ends = segment.src, segment.sport
        if ends in seen:
            return server.right(segment)
        seen.add(ends)
        return None

    (result,) = _fire(Server(answer), [3])
    assert result.again > 128
    assert result.suspects == []


def test_the_same_seed_sends_the_same():
    servers = [Server() for _ in range(2)]
    for server in servers:
        _fire(server, [9])
    first, second = (
        [_without_times(Segment.from_bytes(each)) for each in server.sent] for server in servers
    )
    assert first == second


def _without_times(segment):
    raw = opt.pull_options(segment.options)
    kept = [each for each in raw if each.kind != opt.TIMESTAMPS]
    return segment.sport, segment.seq, segment.flags, kept, segment.payload


@given(
    seed=st.integers(0, 1 << 40),
    client=st.sampled_from(sorted(SOURCES)),
    letters=st.sampled_from(FLAGS),
    size=st.sampled_from(SIZES),
    port=st.sampled_from(PORTS),
    isn=st.integers(0, (1 << 32) - 1),
)
def test_a_probe_is_the_packet_that_its_program_sends(seed, client, letters, size, port, isn):
    options = draw(random.Random(seed))
    if any(each.name == "ts" for each in options):
        return
    ends = SOURCES[client].packed, TARGETS[client[0]].packed, NUMBERS[port]
    recipe = cook(options, letters, size, port, client, ends, _jar(), LINUX, 0)
    assert recipe is not None
    program = recipe.program(isn)
    flow_ends = Ends(ends[0], ends[1], 40000, ends[2])
    play = Play(program, [flow_ends], _jar(), LINUX, Patience())
    play.begin(0.0)
    assert play.take_packets()[0] == recipe.syn.packet(40000, isn)


@given(sport=st.integers(1, 65535), seq=st.integers(0, (1 << 32) - 1))
def test_a_packet_patched_is_a_packet_built(sport, seq):
    for client in ((4, 0), (6, 1)):
        ends = SOURCES[client].packed, TARGETS[client[0]].packed, NUMBERS["main"]
        recipe = cook((), "S", 7, "main", client, ends, _jar(), LINUX, 0)
        built = Ends(ends[0], ends[1], sport, ends[2])
        payload = Segment.from_bytes(recipe.syn.packet(1, 1)).payload
        assert recipe.syn.packet(sport, seq) == build(built, seq, 0, SYN, payload=payload)
