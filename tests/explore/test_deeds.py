"""Legal deeds: what they are, that no right stack minds two of them, and which stacks are found."""

from __future__ import annotations

import functools
import itertools
import json
import random
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from scapy_tfo import option as opt
from scapy_tfo.address import known_address
from scapy_tfo.covering import covering, left_out
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.conversation.deeds import KINDS, joined, split
from scapy_tfo.explore.conversation.handshake import Handshake
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import FAULTS, Deed, Schedule, from_json
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.stages.crossed import crossed, fitted, levels
from scapy_tfo.explore.stages.deeds import PAIRS, SERVERS, TALKERS, with_deeds
from scapy_tfo.explore.stages.rows import rows
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.segment import ACK, FIN, PSH, SYN, URG, Segment
from tests.explore.two_deeds import WRONG
from tests.variants.kept_rows import stack_named


@functools.cache
def profile_of(name: str) -> Profile:
    return SimulatedBench(f"sim:{name}").profile


def played(name: str, schedule: Schedule, *, keep: bool = False) -> Run:
    if name in WRONG:
        world = World(WRONG[name], profile_of("reference"))
    else:
        world = World(stack_named(name), profile_of(name))
    return Play(world, schedule, keep=keep).play()


def rules(run: Run) -> list[str]:
    return [each.rule for each in judged(run) if each.rule not in advice()]


def scene(text: str) -> Schedule:
    """A schedule from what `str` makes of one."""
    base, _, marks = text.partition("; ")
    deeds = [mark.split("@") for mark in marks.split()]
    return Schedule(*base.split(", "), deeds=tuple(Deed(kind, int(at)) for kind, at in deeds))


def segment(**fields: object) -> Segment:
    ends = {
        name: known_address(ip_address(text).packed)
        for name, text in (("src", "192.0.2.10"), ("dst", "192.0.2.1"))
    }
    return Segment(**{**ends, "sport": 1, "dport": 2, "seq": 100, "flags": ACK | PSH, **fields})  # type: ignore[arg-type]


def test_a_segment_is_split_with_its_pointer_and_its_fin() -> None:
    whole = replace(segment(payload=b"abcd", urgent=3), flags=ACK | FIN | URG)
    first, second = split(whole, 1)
    assert (first.payload, first.seq, first.urgent) == (b"a", 100, 3)
    assert (second.payload, second.seq, second.urgent) == (b"bcd", 101, 2)
    assert first.flags == ACK | URG
    assert second.flags == ACK | FIN | URG
    assert split(whole, 3)[1].flags == ACK | FIN


def test_a_fin_is_joined_with_the_text_right_before_it() -> None:
    text = segment(payload=b"abcd")
    fin = replace(segment(), seq=104, flags=ACK | FIN)
    made = joined(text, fin)
    assert made is not None
    assert (made.seq, made.payload, made.is_fin) == (100, b"abcd", True)
    assert joined(text, replace(fin, seq=105)) is None
    assert joined(text, replace(fin, flags=ACK)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_each_deed_is_done_and_the_reference_does_not_mind(kind: str) -> None:
    server = "send-close:100" if kind == "fin-with-ack" else "echo"
    base = Schedule("plain", server, "several:60")
    run = played("reference", replace(base, deeds=(Deed(kind, 3),)), keep=True)
    usual = played("reference", base, keep=True)
    assert rules(run) == []
    sent = [each.data for each in run.trace if each.to_target]
    assert sent != [each.data for each in usual.trace if each.to_target]


def test_each_pair_meets_each_application() -> None:
    met = set()
    servers, clients = set(), set()
    for batch in with_deeds(random.Random(0), lambda _: (12, 6)):
        for each in batch:
            one, two = each.deeds
            assert one.after <= two.after
            met.add(frozenset((one.kind, two.kind)))
            if one.kind == "ce":
                servers.add((each.server, two.kind))
                clients.add((each.client, two.kind))
    assert met == set(map(frozenset, PAIRS))
    others = set(KINDS) - {"ce"}
    assert servers >= {(server, kind) for server in SERVERS for kind in others - {"gap"}}
    assert clients >= {(client, kind) for client in TALKERS for kind in others - {"gap"}}


def test_each_deed_meets_each_fault_and_each_context() -> None:
    batches = crossed(random.Random(0), lambda _: (12, 6), rows())
    made = list(itertools.chain.from_iterable(batches))
    faults = {(each.deeds[0].kind, each.faults[0].kind) for each in made}
    assert faults == set(itertools.product(KINDS, FAULTS))
    assert {each.faults[0].kind for each in made if each.context == rows()[3]} == set(FAULTS)
    contexts = {(each.deeds[0].kind, each.context) for each in made}
    assert contexts == set(itertools.product(KINDS, rows()))
    shards = [
        crossed(random.Random(0), lambda _: (12, 6), rows(), shard=at, of=3) for at in (0, 1, 2)
    ]
    parts = [list(itertools.chain.from_iterable(each)) for each in shards]
    assert sorted(map(str, itertools.chain(*parts))) == sorted(map(str, made))
    for each in made[::40]:
        assert rules(played("reference", each)) == []


def test_a_deed_that_takes_text_goes_where_there_is_some() -> None:
    """What is crossed is complete, although some conversations have no text for a deed."""

    def length_of(schedule: Schedule) -> tuple[int, int]:
        is_mute = schedule.opening == "good" and schedule.client in TALKERS[:6]
        return 12, 0 if is_mute else 6

    sizes = [len(each) for each in levels(rows())]
    asked = covering(sizes, 2)
    made = [each for row in asked for each in fitted(row, length_of)]
    assert left_out(made, sizes, 2) == set()
    assert set(asked) - set(made), "nothing was in the way"
    assert all(len(list(fitted(each, length_of))) == 1 for each in made)


def test_without_any_text_deeds_that_take_some_are_left_out() -> None:
    made = list(itertools.chain(*crossed(random.Random(0), lambda _: (12, 0), rows())))
    kinds = {each.deeds[0].kind for each in made}
    assert kinds == {name for name, kind in KINDS.items() if not kind.takes_text}


def test_the_same_ends_connect_again() -> None:
    run = played("reference", scene("good, half-close:100, several:60; again@0"))
    (again,) = run.also
    assert rules(run) == []
    assert bytes(again.client.received) == bytes(again.server.wrote) != b""


def test_ports_may_rest_behind_a_reset() -> None:
    run = played("ports-rest", scene("refused, abort, several-rest:60; gap-long@2 again@5"))
    assert run.reset
    assert len(run.also) == 1
    assert rules(run) == []


def test_two_clients_open_in_turn() -> None:
    run = played("reference", scene("plain, echo, several:60; beside-fast@2 beside-plain@3"))
    assert [len(each.client.received) for each in run.also] == [60, 60]
    assert rules(run) == []


def test_a_stack_may_give_its_application_the_urgent_byte_apart() -> None:
    run = played("urgent-byte-is-apart", scene("plain, mute, several:60; urgent-near@2"))
    assert len(run.server.received) == len(run.client.wrote) - 1
    assert rules(run) == []


def test_an_urgent_byte_may_be_apart_from_others_that_are_alike() -> None:
    schedule = replace(scene("plain, mute, several:60; urgent-near@2"), context=(("text", "255"),))
    run = played("urgent-byte-is-apart", schedule)
    assert len(run.server.received) == len(run.client.wrote) - 1
    assert rules(run) == []


LEGAL = json.loads((Path(__file__).parent / "legal.json").read_text())
"""What exploring once blamed a legal stack for: the stack and the rule, and the schedule."""


@pytest.mark.parametrize("which", LEGAL)
def test_what_is_legal_and_rare(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scapy_tfo.executor.simulated.named", stack_named)
    name, rule = which.split()
    run = played(name, from_json(LEGAL[which]), keep=True)
    assert len(run.trace) > 8
    assert rule not in rules(run)
    assert rules(run) == []


def test_what_is_behind_a_length_that_lies_may_be_an_option_once_more() -> None:
    syn_options = [opt.mss(1460), opt.sack_permitted(), opt.timestamps(7, 0), opt.window_scale(3)]
    others = [opt.mss(1460), opt.sack_permitted(), opt.timestamps(9, 7)]
    found = []
    for garbage in (b"", b"\x03\x02"):
        handshake = Handshake(profile_of("reference"), 100, b"", taken=False)
        syn = segment(flags=SYN, options=opt.push_options(syn_options) + garbage)
        handshake.sent(syn, 0.0)
        block = opt.push_options(others)
        answer = segment(flags=SYN | ACK, ack=101, options=block)
        found.append(handshake.came(answer, 1))
    assert found[0] is not None
    assert found[0].rule == "options-changed"
    assert found[1] is None


def test_an_abort_before_the_syn_ack_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scapy_tfo.executor.simulated.named", stack_named)
    assert rules(played("kept-row-6", scene("good, abort, write-end:100"))) == []


TWO = {
    "second-soft-error-aborts": (
        "request, think:20, several-rest:60; net-unreachable@5 host-unreachable@10"
    ),
    "soft-error-stops-retransmission": (
        "old-key, slow-reader:100, several:60; rest-long@8 net-unreachable@23"
    ),
    "urgent-text-by-the-byte": "good, echo, two-writes:100; urgent-far@3 one-byte@3",
    "gap-of-a-neighbour": "refused, half-close:100, two-writes:100; late@2 beside-plain@8",
    "aged-by-a-step": "plain, mute, several-rest:60; step@3 keep-alive@13",
    "reduction-hides-marks": "plain, echo, several:60; cwr@3 ce@3",
    "fin-of-early-text-ends-at-once": "plain, mute, several:60; late@7 fin-with-text@9",
    "urgency-outlives-the-connection": ("request, think:20, several-rest:60; urgent-end@2 again@3"),
}


@pytest.mark.parametrize("name", TWO)
def test_a_stack_that_takes_two_deeds_is_found_by_both(name: str) -> None:
    schedule = scene(TWO[name])
    assert rules(played(name, schedule)) != []
    assert rules(played("reference", schedule)) == []
    for deed in schedule.deeds:
        assert rules(played(name, replace(schedule, deeds=(deed,)))) == []
