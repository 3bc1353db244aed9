"""What surrounds a conversation: right stacks do not mind it, and wrong ones that do are found."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.address import known_address
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.audits import served
from scapy_tfo.explore.campaign.rehearsal import rehearsed
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.schedule import Schedule, Wrong
from scapy_tfo.explore.conversation.world import ROOM, TARGETS, World
from scapy_tfo.explore.ends.context import ALONE, FACTORS
from scapy_tfo.explore.ends.dressing import EDITS, dressed
from scapy_tfo.explore.ends.opening import ODD, USUAL
from scapy_tfo.explore.limits import closed
from scapy_tfo.explore.stages.alone import SIZES, alone, is_of_a_host
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.segment import ACK, PSH, SYN, URG, Address, Segment
from scapy_tfo.variants.registry import named

COOKIE_BEHIND = (("later option", "cookie"),)
BELOW = ("ip options 4", "ip options 40", "hop by hop", "destination", "long extensions")


@functools.cache
def profile_of(name: str) -> Profile:
    return SimulatedBench(f"sim:{name}").profile


def world_of(name: str) -> World:
    return World(named(name), profile_of(name))


def rules(name: str, schedule: Schedule) -> list[str]:
    return [each.rule for each in judged(Play(world_of(name), schedule).play())]


LEVELS = [(name, level) for name, levels in FACTORS.items() for level in levels]


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("opening", ["plain", "good"])
def test_each_level_is_served_by_a_right_stack(opening: str, level: tuple[str, str]) -> None:
    schedule = Schedule(opening, "echo", "two-writes:100", context=(level,))
    assert rules("reference", schedule) == []


def test_each_odd_thing_is_served_by_a_right_stack() -> None:
    world = world_of("reference")
    blamed = [str(each) for each in alone() if judged(Play(world, each).play())]
    assert blamed == []


@pytest.mark.parametrize(
    ("mutant", "schedule", "rule"),
    [
        ("cookie-for-the-neighbourhood", Schedule("of:1"), "cookie-of-another"),
        ("cookie-is-address-xor-key", Schedule("of:13"), "cookie-tells-another"),
        (
            "cookie-for-half-the-address",
            Schedule("of:3", context=(("family", "6"),)),
            "cookie-of-another",
        ),
        ("acks-whole-words", Schedule("good", client="write:257"), "number-of-syn-ack"),
        ("drops-syns-of-length3", Schedule("sized:3"), "syn-unanswered"),
        ("drops-short-cookies", Schedule("cut:4"), "syn-unanswered"),
        (
            "compares-timestamps-unsigned",
            Schedule("plain", "echo", "write-rest:100", context=(("clock", "2^32-5"),)),
            "ack-late",
        ),
        ("option-on-data-drops-it", Schedule("plain", context=COOKIE_BEHIND), "ack-late"),
        (
            "request-on-the-ack-is-granted",
            Schedule("plain", context=COOKIE_BEHIND),
            "fast-open-elsewhere",
        ),
        (
            "reserved-bits-drop-the-syn",
            Schedule("refused", context=(("fields", "reserved bits"),)),
            "syn-unanswered",
        ),
        ("grants-cookies-when-off", Schedule("off:ask"), "option-unasked"),
        ("honours-cookies-when-off", Schedule("off"), "refused-text-acknowledged"),
        ("malformed-options-are-answered-when-off", Schedule("off:length"), "option-unasked"),
        ("next-kind-is-fast-open-too", Schedule("other:35"), "cookie-unasked"),
        ("kind-without-a-length-is-a-request", Schedule("bare"), "option-unasked"),
        (
            "rst-beside-syn-is-not-seen",
            Schedule("refused", wrong=Wrong("syn-rst", 0)),
            "ack-before-isn",
        ),
        (
            "ack-beside-syn-is-not-seen",
            Schedule("request", wrong=Wrong("syn-ack-first", 0)),
            "ack-before-isn",
        ),
        (
            "other-data-is-delivered",
            Schedule("old-key", "send-close:100", wrong=Wrong("syn-again-less", 3)),
            "text-changed",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_wrong_stack_minds_it(mutant: str, schedule: Schedule, rule: str) -> None:
    assert rule in rules(mutant, schedule)
    assert rules("reference", schedule) == []


@pytest.mark.parametrize(
    "mutant",
    [
        "drops-plain-syns-over-the-limit",
        "drops-fast-opens-over-the-limit",
        "drops-requests-over-the-limit",
    ],
)
def test_who_is_turned_away_at_the_limit_is_found(mutant: str) -> None:
    assert {each.rule for each in served(world_of(mutant), "echo").wrong} == {"at-the-limit"}


def test_the_reference_serves_all_at_its_limit_and_refuses_at_closed_ports() -> None:
    world = world_of("reference")
    first = served(world, "echo")
    assert (first.room, first.wrong) == (ROOM, ())
    assert list(closed(world)) == []


@pytest.mark.parametrize(
    "mutant",
    [
        "closed-port-is-silent",
        "closed-port-forgets-the-data",
        "closed-port-resets-without-ack",
        "closed-port-keeps-its-listener",
    ],
)
def test_a_closed_port_that_does_not_refuse_is_found(mutant: str) -> None:
    assert {each.rule for each in closed(world_of(mutant))} == {"closed-port"}


def test_levels_that_stand_alone_are_whole() -> None:
    made = alone()
    assert len(made) == len(set(made))
    ports = {int(level) for level in ALONE["port"]}
    assert {1 << power for power in range(1, 16)} <= ports
    bits = {dict(each.context).get("address") for each in made if not each.context[1:]}
    # 224.0.0.0 and above are of no host: from 192.0.2.10, bit 29 leads there.
    assert {str(bit) for bit in range(32) if bit != 29} <= bits
    assert {1, 2, 3, 535, 536, 537, 1459, 1460, 1461} <= set(SIZES)


@pytest.mark.parametrize(
    ("address", "right"),
    [("192.0.2.10", True), ("224.0.2.10", False), ("127.0.0.1", False), ("240.0.0.1", False)],
)
def test_which_addresses_one_host_can_have(address: str, *, right: bool) -> None:
    packed = bytes(map(int, address.split(".")))
    assert is_of_a_host(known_address(packed)) is right


CLIENTS = {
    4: known_address(bytes((192, 0, 2, 10))),
    6: known_address(bytes.fromhex("fd007413000000000000000000000010")),
}


def segment(family: int, text: bytes, flags: int, options: bytes = b"") -> Segment:
    source: Address = CLIENTS[family]
    return Segment(
        src=source,
        dst=TARGETS[family],
        sport=40000,
        dport=10001,
        seq=5,
        ack=9,
        flags=flags,
        options=options,
        payload=text,
    )


segments = st.builds(
    segment,
    st.sampled_from([4, 6]),
    st.binary(max_size=60),
    st.sampled_from([SYN, ACK, ACK | PSH, ACK | URG]),
    st.sampled_from(
        [b"", b"\x01\x01\x08\x0a" + bytes(8), b"\x03\x03\x00\x00", b"\x22\x06\0\0\0\0"]
    ),
)


@given(segments, st.sampled_from(sorted(EDITS)))
def test_an_edit_leaves_a_right_packet_that_says_the_same(sent: Segment, name: str) -> None:
    came = Segment.from_bytes(dressed(sent.to_bytes(), (name,)))
    # A checksum that is not right would stand here.
    assert (came.checksum, came.data_offset) == (None, None)
    hidden = {"options": sent.options, "urgent": sent.urgent, "reserved": sent.reserved}
    bare = replace(came, **hidden, extensions=())
    assert bare == sent
    for kind in (3, 8, 34):
        assert came.option(kind) == sent.option(kind)


@given(segments.filter(lambda each: not each.flags & URG))
def test_checksums_of_zero_stand_in_the_header(sent: Segment) -> None:
    start = 20 if sent.src.version == 4 else 40
    for value in (0, 0xFFFF):
        packet = dressed(sent.to_bytes(), (f"checksum {value}",))
        assert int.from_bytes(packet[start + 16 : start + 18], "big") == value


@given(segments)
def test_what_stands_below_tcp_makes_packets_longer(sent: Segment) -> None:
    whole = sent.to_bytes()
    longer = [len(dressed(whole, (name,))) - len(whole) for name in BELOW]
    assert longer == ([4, 40, 0, 0, 0] if sent.src.version == 4 else [0, 0, 8, 8, 80])


def test_an_option_that_nobody_knows_fills_the_room_that_is_left() -> None:
    sent = segment(4, b"", ACK, b"\x01\x01\x08\x0a" + bytes(8))
    assert len(Segment.from_bytes(dressed(sent.to_bytes(), ("last all",))).options) == 40
    assert len(Segment.from_bytes(dressed(sent.to_bytes(), ("first all",))).options) == 40
    assert dressed(sent.to_bytes(), ("first 38",)) == sent.to_bytes()


@pytest.mark.parametrize("opening", [*USUAL, *ODD])
def test_no_syn_is_longer_than_the_link_carries(opening: str) -> None:
    """A target need not answer what its link drops."""
    _, packets = rehearsed(Schedule(opening, "echo", "write:4000"))
    assert max(len(each.data) for each in packets if each.outbound) <= 1500
