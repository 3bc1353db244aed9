"""Which findings of an exploration a list of known causes covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.explore.campaign.known import Known, load_known, new_ones
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.explorer import Found

LINUX = Path(__file__).resolve().parents[2] / "fuzz" / "explored-linux.toml"
CAUSES = ("does-not-end, rst-before", "times-missing", "times-missing, fin-alone")
FOUND = {
    each: Found(Problem(each.partition(", ")[0], 0, "this", "that"), Schedule()) for each in CAUSES
}


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (CAUSES[0], CAUSES[1:]),
        (CAUSES[1], (CAUSES[0], CAUSES[2])),
        ("times-missing, *", CAUSES[:1]),
        ("does-not-end", CAUSES),
        ("times", CAUSES),
        ("*", CAUSES),
    ],
)
def test_a_cause_covers_itself_or_with_a_star_each_wrong_segment(
    known: str, new: tuple[str, ...]
) -> None:
    assert tuple(new_ones(FOUND, [Known(known, "a test")])) == new


def test_the_list_of_this_kernel_covers_what_it_says() -> None:
    assert new_ones(FOUND, load_known(LINUX)) == {}
