"""A long life: what only thousands of connections, or days, show."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.explore.ages import AGES, Age
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.life import Life


def few(most: int) -> tuple[Age, ...]:
    """The ages, cut short."""
    return tuple(
        Age(each.says, tuple(sorted({min(count, most) for count in each.counts})), each.step)
        for each in AGES
    )


@pytest.mark.parametrize("name", ["reference", "variants-row-2", "one-connection"])
def test_a_legal_stack_grows_old_without_a_change(name: str) -> None:
    lived = Life(name).live(few(20))
    assert lived.changes == []
    assert lived.complete
    assert lived.passed == {each.says: 20 for each in AGES}


def test_what_only_the_fourteenth_shows_is_found() -> None:
    lived = Life("the-fourteenth-end-is-the-last").live()
    assert {each.after for each in lived.changes} == {"16 fast opens that end in order"}
    assert "serves no more fast opens" in {each.problem.rule for each in lived.changes}


def test_a_pending_place_that_is_kept_is_found() -> None:
    def keep(world: World, _number: int) -> None:
        pending = world.stack.listeners[world.port_of("echo")].pending
        assert pending.limit is not None
        pending.limit -= 1

    lived = Life("reference").live((Age("places kept", (1,), keep),))
    assert [each.problem.rule for each in lived.changes] == ["pending-limit-moved"]


def test_it_ends_when_told_to() -> None:
    asked = itertools.count()
    lived = Life("reference", stop=lambda: next(asked) >= 5).live()
    assert not lived.complete
    assert sum(lived.passed.values()) == 5
    assert lived.audits == 2


def test_the_command_tells_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "life.json"
    arguments = ["--life", "--all", "--json", str(path)]
    assert main(["explore", "sim:the-fourteenth-end-is-the-last", *arguments]) == 1
    told = capsys.readouterr().out
    assert "after 16 fast opens that end in order" in told
    assert "16 fast opens that end in order" in path.read_text()
