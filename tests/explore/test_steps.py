"""Applications that are written out as steps, and segments that the path makes two of."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import CUT, HALVED, Fault, Schedule
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.ends.steps import drawn, fewer, parsed
from scapy_tfo.explore.reduce import simpler
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.segment import Segment
from scapy_tfo.variants.registry import named

ENDS = "steps:write-1000,end"


def played(server: str, client: str, faults: Sequence[Fault] = ()) -> Run:
    schedule = Schedule("good", server, client, faults=tuple(faults))
    return Play(World(named("reference"), Profile()), schedule, keep=True).play()


def sizes(run: Run, *, to_target: bool) -> list[int]:
    """Of the segments with text, in the order in which the target got or sent them."""
    segments = [Segment.from_bytes(each.data) for each in run.trace if each.to_target is to_target]
    return [len(each.payload) for each in segments if each.payload]


def test_steps_are_taken_one_after_the_other() -> None:
    run = played("steps:write-3,wait-2000,write-5", "steps:write-40,wait-50,write-7,wait-9000,end")
    assert judged(run) == []
    assert sizes(run, to_target=True) == [40, 7]
    assert sizes(run, to_target=False) == [3, 5]
    assert 9 < run.seconds < 20
    assert len(run.client.received) == 8


def test_who_rests_reads_nothing_meanwhile() -> None:
    run = played("steps:rest,wait-3000,read", "steps:write-700,end")
    assert judged(run) == []
    assert len(run.server.received) == 700
    assert run.seconds > 3


def test_a_conversation_lasts_as_long_as_its_applications() -> None:
    """25 days pass at once."""
    run = played("echo", "steps:write-40,wait-2160000000,write-9,end")
    assert judged(run) == []
    assert len(run.client.received) == 49
    assert run.seconds > 2_160_000


@pytest.mark.parametrize(
    "spec", ["steps:", "steps:write", "steps:write--1", "steps:write-1;end", "steps:end,\x1b[2J"]
)
def test_what_is_no_step_is_refused(spec: str) -> None:
    with pytest.raises(SetupError, match="is no step of an application") as refused:
        parsed(spec)
    assert "\x1b" not in str(refused.value)


def test_what_chance_draws_is_played_and_has_an_end() -> None:
    dice = random.Random(4)
    for _ in range(60):
        server, client = drawn(dice, ends=False), drawn(dice, ends=True)
        assert any(step in ("end", "close") for step, _ in parsed(client))
        assert judged(played(server, client)) == [], (server, client)


def test_what_is_left_of_steps_can_be_played() -> None:
    spec = "steps:rest,wait-50,read,write-1460,wait-20,write-1,end"
    some = list(fewer(spec))
    assert "steps:wait-50,write-1460,wait-20,write-1,end" in some
    assert "steps:rest,wait-50,read,write-100,wait-20,write-1,end" in some
    for each in some:
        left = [step for step, _ in parsed(each)]
        assert left.count("rest") == left.count("read")
        assert left[-1] == "end"
    assert Schedule("good", some[0], ENDS) in list(simpler(Schedule("good", spec, ENDS)))


@pytest.mark.parametrize(("kind", "arrives"), [(HALVED, [100, 450, 450]), (CUT, [100, 450, 450])])
def test_a_segment_becomes_two(kind: str, arrives: list[int]) -> None:
    """Of one that was cut, the second half has to be sent once more."""
    client = "steps:write-100,wait-50,write-900,end"
    text = next(at for at in range(9) if _is_text(at, client))
    run = played("echo", client, [Fault(True, text, kind)])
    assert judged(run) == []
    assert sizes(run, to_target=True)[:3] == arrives
    assert (run.seconds > 0.9) is (kind == CUT)


def _is_text(index: int, client: str) -> bool:
    """Whether the client's packet of that number has the second text."""
    run = played("echo", client)
    segments = [Segment.from_bytes(each.data) for each in run.trace if each.to_target]
    return index < len(segments) and len(segments[index].payload) == 900


@pytest.mark.parametrize("kind", [HALVED, CUT])
def test_what_has_no_text_and_a_syn_pass_whole(kind: str) -> None:
    whole = played("echo", ENDS)
    for at in (0, 1):
        run = played("echo", ENDS, [Fault(True, at, kind)])
        assert run.mark == whole.mark
