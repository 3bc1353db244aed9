"""Facts and verdicts in plain Lua, of each version that Wireshark has: no tshark is needed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from crafted import COOKIE, DATA, Talk
from laws import NUMBERS, charges, is_less
from test_outcomes import UNKNOWN, WANTED
from transforms import LESS, Packet, Transform, in_microseconds
from tshark import connections, needs_tshark

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.dissector import files
from scapy_tfo.segment import Segment

pytest.importorskip("lupa", reason="lupa is not installed: scripts/setup.sh test")

from plain import VERSIONS, PlainLua

SEEDS = 4
"""Of each transform of each conversation, in each version; more are for whoever has the time."""

REMAINS = {
    "replayed": {"accepted"},
    "over-acknowledged": {"unknown"},
    "syn-ack-lost": {"syn-lost-fallback"},
    "syn-lost-fallback": {"accepted"},
}
"""What is left where the one packet that shows more was not captured: the SYN or SYN-ACK of the
other time, the SYN-ACK before the SYN was sent again, the first SYN."""


@cache
def lua(version: str) -> PlainLua:
    return PlainLua(version)


def told(packets: list[Packet], version: str) -> list[dict[str, Any]]:
    in_order = sorted(packets, key=lambda each: each.when)
    return lua(version).connections((p.when / 1e9, p.frame[14 : max(p.snap, 14)]) for p in in_order)


def on_ethernet(talk: Talk) -> list[Packet]:
    kind = b"\x08\x00" if talk.family == 4 else b"\x86\xdd"
    return [
        Packet(round(each.when * 1e9), each.outbound, bytes(12) + kind + each.data)
        for each in talk.packets
    ]


def held(tell: Any, family: int, stamped: bool) -> list[Packet]:
    """A conversation; where the server is part of it, to its end."""
    talk = Talk(family=family, stamped=stamped)
    tell(talk)
    if tell not in UNKNOWN:
        if Segment.from_bytes(talk.packets[-1].data).is_syn_ack:
            talk.data(at=len(DATA))
        talk.answer()
        talk.close()
    return on_ethernet(talk)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_outcome_is_told(version: str) -> None:
    wrong = []
    for tell, outcome in WANTED:
        for family in (4, 6):
            talk = Talk(family=family)
            tell(talk)
            (found,) = told(on_ethernet(talk), version)
            if found["outcome"] != outcome or found["why"] != UNKNOWN.get(tell, found["why"]):
                wrong.append((tell.__name__, family, found))
    assert wrong == []


def plain(talk: Talk) -> None:
    talk.syn()
    talk.syn_ack()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_connection_without_fast_open_is_not_kept(version: str) -> None:
    assert told(held(plain, 4, True), version) == []


@needs_tshark
@pytest.mark.parametrize("version", VERSIONS)
def test_it_says_what_tshark_says(version: str) -> None:
    """Also of what the dissector leaves at one look."""
    frames = read_frames(files.sample())
    here = lua(version).connections((each.when / 1e9, each.data) for each in frames)
    there = connections(files.sample())
    for connection in there:
        del connection["stream"]
    for connection in here:
        connection.pop("event", None)
    assert len(here) == len(there) > 40
    for found, shown in zip(here, there, strict=True):
        assert _is_close(found, shown), (found, shown)


def _is_close(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        abs(value - other[name]) < 2e-5 if isinstance(value, float) else value == other[name]
        for name, value in one.items()
    )


def shown(told: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [(each["outcome"], each["why"], *map(each.get, NUMBERS), charges(each)) for each in told]


def may_follow(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """Whether nothing else is said where packets are lacking, and nobody is charged."""
    if is_less(before, after):
        return True
    remains = set().union(*(REMAINS.get(each["outcome"], set()) for each in before))
    return all(each["outcome"] in remains and not charges(each) for each in after)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transform", LESS, ids=lambda each: each.__name__)
def test_what_a_capture_lacks_is_no_outcome_and_no_charge(
    transform: Transform, version: str
) -> None:
    wrong, count = [], 0
    for tell, outcome in WANTED:
        for family, stamped in ((4, False), (4, True), (6, False), (6, True)):
            packets = held(tell, family, stamped)
            before = told(packets, version)
            if before[0]["outcome"] != outcome:
                continue  # the client never said that the SYN-ACK came
            for seed in range(SEEDS):
                dice = Random(f"{seed} {tell.__name__} {family} {stamped}")
                after = told(transform(packets, dice), version)
                count += 1
                if not may_follow(before, after):
                    wrong.append(
                        (tell.__name__, family, stamped, seed, shown(before), shown(after))
                    )
    assert wrong == [], len(wrong)
    assert count >= 4 * SEEDS * (len(WANTED) - 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_resolution_of_time_changes_nothing(version: str) -> None:
    for tell, _ in WANTED:
        packets = held(tell, 4, True)
        assert told(in_microseconds(packets, Random(0)), version) == told(packets, version)


EVENTS = {
    "nobody_answers": "unanswered note",
    "nobody_answers_twice": "unanswered note",
    "rst_answers": "unanswered note",
    "refused_silently": "refused note",
    "syn_lost": "lost note",
    "accepted": None,
    "one_direction": None,
    "syn_ack_missing": None,
}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_befell_a_connection_is_told_of_it(version: str) -> None:
    """A SYN is called unanswered only where nothing shows that the capture lacks the answer."""
    found = {}
    for tell, _ in WANTED:
        (each,) = told(held(tell, 4, True), version)
        found[tell.__name__] = each.get("event")
    assert {name: found[name] for name in EVENTS} == EVENTS


def a_second_syn_ack(talk: Talk) -> None:
    """Of no timestamps that name it: the first was lost behind the capture, or the answer to it."""
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA))
    talk.wait()
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))


@pytest.mark.parametrize("version", VERSIONS)
def test_of_two_syn_acks_that_nothing_names_neither_is_the_one(version: str) -> None:
    (found,) = told(held(a_second_syn_ack, 4, False), version)
    assert found["outcome"] == "unknown"
    assert found["why"].startswith("the SYN-ACK was sent again after 1.000 s")
    (found,) = told(held(a_second_syn_ack, 4, True), version)
    assert found["outcome"] == "syn-ack-lost"


def its_second_syn_ack_is_missing(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack()
    talk.wait()
    talk.syn()
    talk.data(DATA)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_syn_ack_that_did_not_come_ends_no_round_trip(version: str) -> None:
    (found,) = told(held(its_second_syn_ack_is_missing, 4, False), version)
    assert found["outcome"] == "syn-ack-lost"
    assert "rtt" not in found


@pytest.mark.parametrize("version", VERSIONS)
def test_a_copy_from_the_connection_before_is_no_data_sent_again(version: str) -> None:
    """A SYN that the path held back comes after the plain one that took its place."""
    talk = Talk(stamped=True)
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)
    earlier = talk.packets[-1]
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA), isn=90_000)
    talk.packets.append(replace(earlier, when=talk.when))
    talk.data(at=len(DATA))
    (found,) = told(on_ethernet(talk), version)
    assert (found["outcome"], found["acked"], found["resent"]) == ("accepted", len(DATA), 0)
