"""What a context makes of the packets of a case, as the capture shows them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from scapy_tfo import option as opt
from scapy_tfo import spec
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.segment import CWR, ECE, PSH, SYN, Segment
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import CapturedPacket, Verdict

Packets = list[tuple[Segment, bytes]]


@functools.cache
def sent(text: str, case: str = "SRV-1.a-cookie-is-good-for-the-client-that-asked") -> Packets:
    """What the suite sends for one case in a context: segments, each with its bytes."""
    ours = [each.data for each in packets_of(text, case) if each.outbound and case in each.comment]
    return [(Segment.from_bytes(data), data) for data in ours]


def heard(text: str) -> list[Segment]:
    """What the target sends in a context."""
    packets = packets_of(text, "ACC-2.syn-data-is-acknowledged")
    return [Segment.from_bytes(each.data) for each in packets if not each.outbound]


@functools.cache
def packets_of(text: str, case: str) -> tuple[CapturedPacket, ...]:
    context = Context.parse(text)
    options = Options(families=(int(context["family"]),), context=context, intrusive=True)
    done = simulate("sim:reference", select(all_cases(), [case]), spec.load(), options)
    assert {each.verdict for each in done.results} == {Verdict.PASS}
    return done.packets


def syns(text: str) -> list[Segment]:
    return [segment for segment, _ in sent(text) if segment.is_syn]


def kinds(segment: Segment) -> list[int]:
    return [each.kind for each in opt.pull_options(segment.options) if each.kind != opt.EOL]


EVERY_SYN: dict[str, Callable[[Segment], bool]] = {
    "sack=yes": lambda syn: opt.SACK_PERMITTED in kinds(syn),
    "shift=0": lambda syn: syn.option(opt.WINDOW_SCALE) == opt.window_scale(0),
    "shift=15": lambda syn: syn.option(opt.WINDOW_SCALE) == opt.window_scale(15),
    "mss=none": lambda syn: opt.MSS not in kinds(syn),
    "mss=65535": lambda syn: syn.mss == 65535,
    "place=first": lambda syn: kinds(syn)[0] == opt.TFO,
    "place=last": lambda syn: kinds(syn)[-1] == opt.TFO,
    "fill=before-2": lambda syn: kinds(syn)[1:3] == [200, opt.TFO],
    "fill=behind-38": lambda syn: len(syn.options) == opt.MAX_OPTIONS and kinds(syn)[-1] == 200,
    "fill=nop": lambda syn: kinds(syn)[1:3] == [opt.NOP, opt.TFO],
    "dscp=46": lambda syn: syn.traffic_class == 46 << 2,
    "ecn=setup": lambda syn: syn.flags & (ECE | CWR) == ECE | CWR,
    "ecn=ce": lambda syn: syn.traffic_class == 3,
    "label=max": lambda syn: syn.ip_id == 0xFFFF,
    "family=6,label=max": lambda syn: syn.flow_label == 0xFFFFF,
    "family=6,headers=long": lambda syn: [kind for kind, _ in syn.extensions] == [0, 60],
    "urgent=65535": lambda syn: syn.urgent == 65535,
    "push=syn": lambda syn: bool(syn.flags & PSH) == bool(syn.payload),
    "isn=4294967288": lambda syn: syn.seq == 4294967288,
    "times=wrap": lambda syn: (
        (syn.timestamps is not None and syn.timestamps[0] > 0xFFFFFF00)
        or (syn.timestamps is not None and syn.timestamps[0] < 100)
    ),
}


@pytest.mark.parametrize("text", EVERY_SYN)
def test_a_syn_in_its_context(text: str) -> None:
    found = syns(text)
    assert found
    assert all(map(EVERY_SYN[text], found))


def test_without_a_context_nothing_is_added() -> None:
    for syn in syns(""):
        assert kinds(syn) == [opt.MSS, opt.TFO]
        assert syn.flags == SYN


@pytest.mark.parametrize(("text", "field"), [("urgent=sum0", 0), ("urgent=sumffff", 0xFFFF)])
@pytest.mark.parametrize("family", ["4", "6"])
def test_the_checksum_is_made_up_for(text: str, field: int, family: str) -> None:
    for segment, data in sent(f"family={family},{text}"):
        head = 20 if family == "4" else 40
        assert int.from_bytes(data[head + 16 : head + 18], "big") == field
        assert segment.checksum is None, "it is right"


@pytest.mark.parametrize(("text", "words"), [("headers=short", 6), ("headers=long", 15)])
def test_options_of_ipv4(text: str, words: int) -> None:
    for _, data in sent(text):
        assert data[0] & 15 == words
        assert data[20] == 1


def test_agreed_timestamps_are_on_every_segment_and_grow() -> None:
    values = [segment.timestamps for segment, _ in sent("times=wrap")]
    assert all(each is not None for each in values[:2])
    numbers = [(each[0] - 0xFFFFFFFE) % 2**32 for each in values if each is not None]
    assert numbers == sorted(set(numbers))


def test_a_clock_of_long_ticks_stays_at_zero() -> None:
    values = [segment.timestamps for segment, _ in sent("times=zero")]
    assert {each[0] for each in values if each is not None} == {0}


@pytest.mark.parametrize(("text", "port"), [("port=1023", 1023), ("port=65535", 65535)])
def test_ports_are_neighbours_of_the_first(text: str, port: int) -> None:
    used = list(dict.fromkeys(segment.sport for segment, _ in sent(text)))
    assert used[0] == port
    assert all(abs(each - port) <= 16 for each in used)


def test_equal_ports() -> None:
    first, *_ = sent("port=same")
    assert first[0].sport == first[0].dport


@pytest.mark.parametrize(("text", "apart"), [("source=bit-8", 1 << 8), ("source=bit-31", 1 << 31)])
def test_two_clients_are_apart_in_one_bit(text: str, apart: int) -> None:
    case = "SRV-1.another-address-cannot-use-it"
    clients = dict.fromkeys(int(segment.src) for segment, _ in sent(text, case))
    assert apart in {one ^ other for one in clients for other in clients}


@pytest.mark.parametrize(("text", "least"), [("text=zeros,size=256", 256), ("text=ones", 16)])
def test_requests_of_other_bytes_and_sizes(text: str, least: int) -> None:
    texts = [segment.payload for segment, _ in sent(text) if segment.payload]
    byte = b"\0" if "zeros" in text else b"\xff"
    assert all(len(each) >= least for each in texts)
    assert all(each.startswith(byte) and each.endswith(byte) for each in texts)
    assert len(set(texts)) > 1, "no two requests are alike"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("iss=wrap", (1 << 32) - 40, 1 << 32),
        ("iss=sign", (1 << 31) - 40, 1 << 31),
        ("iss=zero", 0, 40),
    ],
)
def test_numbers_of_the_target(text: str, least: int, most: int) -> None:
    numbers = [each.seq for each in heard(text) if each.is_syn_ack]
    assert len(set(numbers)) > 1
    assert all(least <= each < most for each in numbers)


@pytest.mark.parametrize(("text", "mss"), [("mtu=576", 536), ("family=6,mtu=576", 1220)])
def test_a_small_mtu_shows_in_both_offers_and_in_the_sizes(text: str, mss: int) -> None:
    case = "ACC-2.syn-data-is-acknowledged"
    assert {each.mss for each in heard(text) if each.is_syn_ack} == {mss}
    assert {each.mss for each, _ in sent(text, case) if each.is_syn} == {mss}
    largest = max(len(data) for _, data in sent(f"{text},size=1400", case))
    assert largest <= (576 if mss == 536 else 1280)


def test_a_round_trip_takes_its_time() -> None:
    packets = packets_of("rtt=100", "ACC-2.syn-data-is-acknowledged")
    first, *others = packets
    answer = next(each for each in others if not each.outbound)
    assert answer.when - first.when == pytest.approx(0.1)
