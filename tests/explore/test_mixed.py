"""Mixtures of everything legal: what is in them, that no right stack minds them, what they find."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.schedule import (
    FAULTS,
    OUTAGE,
    PIECES,
    Deed,
    Fault,
    Schedule,
    from_json,
    to_json,
)
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.ends.context import FACTORS
from scapy_tfo.explore.ends.opening import ODD
from scapy_tfo.explore.ends.steps import is_written_out
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.stages import mixed as mixtures
from scapy_tfo.explore.stages.mixed import mixed
from scapy_tfo.explore.stages.plan import CROSSED, MIXED, stage_of
from scapy_tfo.mutants.registry import Mutant
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.reference.settings import Settings
from scapy_tfo.variants.registry import named, stack_of


def made(batches: int, seed: int = 0) -> list[Schedule]:
    length_of = Explorer("reference").length_of
    some = itertools.islice(mixed(random.Random(seed), length_of), batches)
    return list(itertools.chain.from_iterable(some))


def test_what_they_are_made_of() -> None:
    some = made(16)
    assert sum(stage_of(each) in (MIXED, CROSSED) for each in some) > 0.95 * len(some)
    levels = {(name, level) for each in some for name, level in each.context}
    every = {(name, level) for name, levels in FACTORS.items() for level in tuple(levels)[1:]}
    assert levels == every
    assert {fault.kind for each in some for fault in each.faults} == {*FAULTS, *PIECES, OUTAGE}
    assert max(len(each.deeds) for each in some) == 3
    assert max(len(each.faults) for each in some) == 4
    assert any(each.wrong and each.deeds and each.faults and each.context for each in some)
    assert any(each.opening in ODD for each in some)
    assert any(is_written_out(each.client) for each in some)
    for each in some:
        assert from_json(to_json(each)) == each
        assert [deed.after for deed in each.deeds] == sorted(deed.after for deed in each.deeds)
        assert each.size[0] > 1 or each.context


def test_shards_have_all_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixtures, "BATCHES", 7)
    whole = [str(each) for each in made(7)]
    length_of = Explorer("reference").length_of
    parts = [mixed(random.Random(0), length_of, shard=at, of=3) for at in range(3)]
    together = [str(each) for part in parts for batch in part for each in batch]
    assert sorted(together) == sorted(whole)


class WindowsOfPlainNumbers(SendSide):
    """SND.WL1 and SND.WL2 are compared as plain numbers (RFC 9293 section 3.10.7.4, fifth)."""

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        if (self.wl1, self.wl2) > (segment_seq, ack):
            return False
        return super().update_window(field, segment_seq, ack, scaled=scaled)


def found(stack: Mutant, schedule: Schedule) -> list[str]:
    problems = judged(Play(World(stack, Profile()), schedule).play())
    return [each.rule for each in problems if each.rule not in advice()]


def test_a_stack_that_takes_three_things_is_found_by_all_of_them() -> None:
    wrong = Mutant(
        name="windows-of-plain-numbers",
        breaks="",
        description="",
        stack=stack_of((WindowsOfPlainNumbers,)),
        settings=Settings(),
    )
    mixture = Schedule(
        *("old-key", "send:3000", "write-end:100", (("their isn", "2^32-50"),)),
        faults=(Fault(False, 1, "swapped"),),
        deeds=(Deed("rest-unscaled", 3),),
    )
    assert found(wrong, mixture) == ["over-the-unscaled-window"]
    assert found(named("reference"), mixture) == []
    for part in ({"context": ()}, {"faults": ()}, {"deeds": ()}):
        assert found(wrong, replace(mixture, **part)) == []


def test_the_reference_is_right_in_mixtures() -> None:
    for each in made(6, seed=1):
        assert found(named("reference"), each) == [], str(each)


BLAMED = json.loads((Path(__file__).parent / "blamed_mixtures.json").read_text())
"""What mixtures once blamed a right stack for: the stack and the rule, and the schedule."""


@pytest.mark.parametrize("which", BLAMED)
def test_what_a_right_stack_was_once_blamed_for(which: str) -> None:
    name, _ = which.split()
    profile = SimulatedBench(f"sim:{name}").profile
    run = Play(World(named(name), profile), from_json(BLAMED[which])).play()
    assert run.passed > 2
    assert [each.rule for each in judged(run) if each.rule not in advice()] == []
