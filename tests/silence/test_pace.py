"""The number of cases under way follows what the target bears."""

from __future__ import annotations

import asyncio

from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.silence.pace import FIRST, Pace, late_after


def test_it_grows_by_steps_to_the_most_and_no_further() -> None:
    pace = Pace(40)
    assert pace.limit == FIRST
    limits = []
    for _ in range(8):
        pace.prompt()
        limits.append(pace.limit)
    assert limits[0] > FIRST
    assert limits == sorted(limits)
    assert limits[-1] == 40
    assert not pace.notes


def test_one_overload_halves_it_once_however_many_controls_were_late() -> None:
    pace = Pace(40)
    for _ in range(8):
        pace.prompt()
    for late in (10.0, 10.1, 10.9):
        pace.overloaded(late)
    assert pace.limit == 20
    pace.overloaded(11.1)
    assert (pace.limit, pace.lowest) == (10, 10)
    assert pace.notes


def test_after_an_overload_it_grows_one_by_one() -> None:
    pace = Pace(40)
    pace.overloaded(0.0)
    before = pace.limit
    pace.prompt()
    assert pace.limit == before + 1


def test_it_never_comes_to_a_stop() -> None:
    pace = Pace(2)
    for turn in range(10):
        pace.overloaded(2.0 * turn)
    assert pace.limit == 1


def test_a_slower_path_is_not_taken_for_a_slow_target() -> None:
    assert late_after(0.0) > 0.1
    assert late_after(0.6) > 2 * 0.6


def test_no_more_are_under_way_than_it_lets_in_and_all_get_their_turn() -> None:
    async def whole() -> tuple[int, int]:
        pace, under_way, most, done = Pace(40), 0, 0, 0

        async def one() -> None:
            nonlocal under_way, most, done
            async with pace.turn():
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(1)
                under_way -= 1
                done += 1

        crowd = asyncio.gather(*(one() for _ in range(50)))
        await asyncio.sleep(0.5)
        assert pace.has_waiting
        assert under_way == FIRST
        pace.prompt()
        await asyncio.sleep(0)
        assert most == pace.limit
        await crowd
        return most, done

    assert run_virtually(whole()) == (FIRST + 8, 50)


def test_a_turn_given_up_goes_to_the_next() -> None:
    async def whole() -> None:
        pace = Pace(1)

        async def one() -> None:
            async with pace.turn():
                await asyncio.sleep(1)

        first, second, third = (asyncio.ensure_future(one()) for _ in range(3))
        await asyncio.sleep(0.1)
        second.cancel()
        await asyncio.gather(first, third)

    run_virtually(whole())
