"""How the time to the next copy grows (RFC 6298 section 5.5)."""

from __future__ import annotations

import pytest

from tests.oracle.conduct import test_rules as rules
from tests.oracle.conduct.conversation import Conversation

LATE = {
    "0.2 s more, of a timeout that doubles from 0.03 s": (0.23, 0.26, 0.32, 0.44, 0.68),
    "the first of them on a busy host": (0.26, 0.26, 0.32, 0.44, 0.68),
    "the second": (0.23, 0.29, 0.32, 0.44, 0.68),
    "doubled exactly": (0.25, 0.5, 1.0, 2.0),
}


@pytest.mark.parametrize("gaps", LATE.values(), ids=LATE)
def test_a_timer_may_always_be_some_time_late(gaps: tuple[float, ...]) -> None:
    talk = rules.conversation("no-backoff")
    rules._copies(talk, gaps)
    assert talk.broken == []


@pytest.mark.parametrize("gap", [0.2, 0.21, 0.3, 1.0, 3.0, 15.6])
def test_a_timeout_that_never_grows_is_no_late_one(gap: float) -> None:
    talk = rules.conversation("no-backoff")
    rules._copies(talk, (gap, gap + 0.004, gap, gap + 0.002))
    assert "no-backoff" in talk.broken


def copied(*gaps: float, whole: bool = True) -> list[str]:
    """The rules that text breaks which is sent again so many seconds apart."""
    talk = Conversation(ordered=True, whole=whole)
    rules._copies(talk, gaps)
    return talk.broken


@pytest.mark.parametrize("gaps", [(1.0, 3.0, 9.0), (0.3, 0.8, 2.1), (0.01, 0.5, 2.0, 8.0)])
def test_a_timeout_does_not_grow_by_more_than_twice(gaps: tuple[float, ...]) -> None:
    assert copied(*gaps) == ["no-backoff"]


LONGER = {
    "the second copy is lost": (1.0, 2.0 + 4.0, 8.0),
    "the third": (1.0, 2.0, 4.0 + 8.0),
    "both": (1.0, 2.0 + 4.0, 8.0 + 16.0),
    "the first is a probe for a loss at the tail": (0.01, 0.2, 0.4, 0.8),
}


@pytest.mark.parametrize("gaps", LONGER.values(), ids=LONGER)
def test_a_copy_that_is_lost_makes_gaps_longer(gaps: tuple[float, ...]) -> None:
    assert copied(*gaps) == []


def test_of_a_capture_with_holes_no_gap_is_known_to_be_too_long() -> None:
    assert copied(1.0, 3.0, 9.0, whole=False) == []
