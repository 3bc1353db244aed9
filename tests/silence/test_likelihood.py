"""The chance that loss explains a silence is never below what loss really does."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.silence.likelihood import (
    Exposure,
    Silence,
    Tally,
    bound_of,
    chance_of_loss,
    in_words,
)

counts = st.integers(0, 400)


def silences(
    tally: Tally, tries: int, *, step: int = 1, whole: int = 1, what: str = "a SYN-ACK"
) -> list[Silence]:
    return [Silence(what, 0, 0, tally, Exposure(step, step, whole))] * tries


def test_nine_silences_beside_one_lost_control_are_no_loss() -> None:
    # Beta(2, 48): 2 * 3 * ... * 10 / (50 * 51 * ... * 58).
    chance = chance_of_loss(silences(Tally(48, 1), 9))
    assert chance == pytest.approx(9.39e-10, rel=0.01)


def test_no_control_at_all_proves_nothing() -> None:
    # The next of nine is like the others, whatever they are: 1 / 2, 2 / 3, ...
    assert chance_of_loss(silences(Tally(), 9)) == pytest.approx(0.1)
    assert chance_of_loss([]) == 1.0


def test_a_path_that_loses_a_third_of_all_round_trips_explains_long_conversations() -> None:
    assert chance_of_loss(silences(Tally(400, 144), 9, step=8, whole=8)) == 1.0


def test_silences_at_other_steps_count_with_all_that_could_be_lost() -> None:
    tally = Tally(1000)
    same = silences(tally, 3, step=1, whole=20)
    other = [*same[:2], Silence("a RST", 0, 0, tally, Exposure(1, 1, 20))]
    assert chance_of_loss(same) < chance_of_loss(other) / 100


def test_tries_that_got_equally_far_lost_what_was_to_come_there_and_nothing_else() -> None:
    far = Exposure(point=1, step=50, whole=100)
    tally = Tally(1000)
    same = [Silence("the answer", 0, 49, tally, far)] * 3
    other = [*same[:2], Silence("the answer", 0, 12, tally, far)]
    assert chance_of_loss(same) < chance_of_loss(other) / 100


def test_each_period_is_asked_for_itself() -> None:
    lossy, clean = Tally(20, 10), Tally(20)
    apart = chance_of_loss([*silences(lossy, 1), *silences(clean, 1)])
    assert apart == pytest.approx(11 / 22 * 1 / 22)


@given(counts, counts, st.integers(1, 9), st.integers(1, 30))
def test_more_tries_and_more_answers_never_make_loss_likelier(
    answered: int, lost: int, tries: int, step: int
) -> None:
    tally = Tally(answered + lost, lost)
    chance = chance_of_loss(silences(tally, tries, step=step, whole=step))
    assert 0 < chance <= 1
    assert chance_of_loss(silences(tally, tries + 1, step=step, whole=step)) <= chance
    better = Tally(answered + lost + 1, lost)
    assert chance_of_loss(silences(better, tries, step=step, whole=step)) <= chance
    assert chance_of_loss(silences(tally, tries, step=step, whole=step), more=2) <= chance


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("trips", [1, 3, 8])
def test_loss_stays_below_a_bound_no_more_often_than_the_bound_says(
    share: float, trips: int
) -> None:
    dice = random.Random(f"{share} {trips}")
    bound, wrong, rounds = 0.05, 0, 4000
    for _ in range(rounds):
        tally = Tally()
        for _ in range(40):
            tally.count(lost=dice.random() < share)
        silent = all(any(dice.random() < share for _ in range(trips)) for _ in range(3))
        chance = chance_of_loss(silences(tally, 3, step=trips, whole=trips))
        wrong += silent and chance < bound
    assert wrong <= bound * rounds


def test_the_bound_holds_for_a_whole_run_however_short() -> None:
    assert bound_of(1) == bound_of(1000) == pytest.approx(1e-6)
    assert bound_of(4000) == pytest.approx(2.5e-7)


@pytest.mark.parametrize(
    ("tally", "tries", "said"),
    [
        (Tally(48, 1), 9, "9 of 9 times, while 47 of 48 control handshakes"),
        (Tally(48, 1), 9, "below 1e-9"),
        (Tally(9000), 3, "below 1e-9"),
        (Tally(3), 2, "of up to 0.067"),
    ],
)
def test_the_chance_is_told_in_plain_words(tally: Tally, tries: int, said: str) -> None:
    assert said in in_words(silences(tally, tries))
