"""The times when events are due, and the limits of early and late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.tree import Time
from scapy_tfo.pkt.play.schedule import Span, Timeline, Window

MS = 1_000_000
START = 1_700_000_000_000_000_000
times = st.integers(0, 10**12)


def time(text: str) -> Time:
    return parse(f"0 close(3) = 0\n{text} close(3) = 0").events[1].time


def timeline(tolerance: int = 4 * MS, share: float = 0.0, tick: int = 0) -> Timeline:
    found = Timeline(tolerance, share, tick)
    found.begin(START)
    return found


def is_on_time(line: Timeline, text: str, after: int) -> bool:
    window = line.window(time(text))
    return window is None or not window.misses(START + after)


@given(
    earliest=times,
    length=times,
    tolerance=st.integers(0, 10**9),
    grain=st.integers(0, 10**7),
    inside=st.floats(0, 1),
    beyond=st.integers(1, 10**12),
)
def test_a_window_blames_nothing_inside_and_all_outside(
    earliest: int, length: int, tolerance: int, grain: int, inside: float, beyond: int
) -> None:
    window = Window(earliest, earliest + length, tolerance, grain)
    first, last = earliest - tolerance, earliest + length + tolerance + grain
    when = min(first + int(inside * (last - first)), last)
    assert not window.misses(when)
    assert window.is_early(first - beyond)
    assert not window.is_late(first - beyond)
    assert window.is_late(last + beyond)
    assert not window.is_early(last + beyond)


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("+.1", [96, 100, 104], [95, 105]),
        ("+.1~+.2", [96, 150, 204], [95, 205]),
        (".1", [96, 100, 104], [95, 105]),
        (".1~.2", [96, 204], [95, 205]),
        ("+0", [0, 4], [5]),
        ("*", [0, 10**6], []),
    ],
)
def test_the_first_packet_is_held_against_the_start(
    text: str, good: list[int], bad: list[int]
) -> None:
    line = timeline()
    assert [each for each in good + bad if is_on_time(line, text, each * MS)] == good


def test_relative_times_count_from_what_really_came() -> None:
    line = timeline()
    line.came(time("+.1"), START + 103 * MS)
    assert not is_on_time(line, "+.1", 198 * MS)
    assert is_on_time(line, "+.1", 199 * MS)
    assert is_on_time(line, "+.1", 207 * MS)
    assert not is_on_time(line, "+.1", 208 * MS)


def test_what_an_action_causes_is_not_early_by_much() -> None:
    line = timeline(tick=4 * MS)
    line.acted(time("+.01"), START + 10 * MS, Span(START + 10 * MS, START + 11 * MS), packet=True)
    assert not is_on_time(line, "+.003", 10 * MS)
    assert not is_on_time(line, "+.003", 11 * MS)
    assert is_on_time(line, "+.001", 11 * MS)
    # Before and behind it there may have been a timer.
    assert is_on_time(line, "+.003", 9 * MS)
    assert is_on_time(line, "+.003", 12 * MS)
    line.came(time("+0"), START + 10 * MS)
    assert not is_on_time(line, "+.003", 11 * MS)


def test_of_a_kernel_elsewhere_no_action_causes_anything_for_certain() -> None:
    line = timeline()
    line.acted(time("+.01"), START + 10 * MS, Span(START + 10 * MS, START + 11 * MS), packet=True)
    assert is_on_time(line, "+.003", 11 * MS)


def test_absolute_times_count_from_the_start() -> None:
    line = timeline()
    line.came(time("+.1"), START + 103 * MS)
    assert is_on_time(line, ".2", 196 * MS)
    assert not is_on_time(line, ".2", 205 * MS)


def test_what_the_script_did_happened_somewhere_in_between() -> None:
    line = timeline()
    due = line.due(time("+.01"))
    assert due == START + 10 * MS
    line.acted(time("+.01"), due, Span(due + 20 * MS, due + 50 * MS))
    assert line.slip == 50 * MS
    assert is_on_time(line, "+0", 26 * MS)
    assert is_on_time(line, "+0", 64 * MS)
    assert not is_on_time(line, "+0", 25 * MS)
    assert not is_on_time(line, "+0", 65 * MS)
    assert is_on_time(line, ".02", 74 * MS)
    assert not is_on_time(line, ".02", 75 * MS)


@given(lates=st.lists(st.integers(0, 50 * MS), min_size=1, max_size=10), gap=st.integers(0, MS))
def test_packets_in_a_row_keep_step_however_late_each_is(lates: list[int], gap: int) -> None:
    line, step = timeline(), Time(earliest=gap)
    for number, late in enumerate(lates):
        due = line.due(step, packet=True)
        assert due == START + (number + 1) * gap
        line.acted(step, due, Span(due + late, due + late), packet=True)


def test_but_not_with_what_came_in_between() -> None:
    line = timeline()
    line.acted(time("+0"), START, Span(START + 5 * MS, START + 6 * MS), packet=True)
    line.came(time("+0"), START + 7 * MS)
    assert line.due(time("+.01"), packet=True) == START + 17 * MS


def test_whenever_is_due_at_once() -> None:
    line = timeline()
    line.came(time("+0"), START + 7 * MS)
    assert line.due(time("*")) == START + 7 * MS
    assert line.window(time("*")) is None


@pytest.mark.parametrize(("text", "last"), [("+2", 2250), ("+.001", 5), ("2", 2250)])
def test_long_waits_are_forgiven_a_share(text: str, last: int) -> None:
    line = timeline(share=0.125)
    assert is_on_time(line, text, last * MS)
    assert not is_on_time(line, text, (last + 1) * MS)


def test_the_share_is_of_the_time_since_the_event_before() -> None:
    line = timeline(share=0.125)
    line.came(time("+2"), START + 2000 * MS)
    assert is_on_time(line, "2.1", 2112 * MS)
    assert not is_on_time(line, "2.1", 2113 * MS)
    line.came(time("2.1"), START + 2110 * MS)
    assert not is_on_time(line, "2.2", 2213 * MS)


def test_a_timer_may_end_two_ticks_late_and_never_early() -> None:
    line = timeline(tick=4 * MS)
    assert is_on_time(line, "+.1", 112 * MS)
    assert not is_on_time(line, "+.1", 113 * MS)
    assert not is_on_time(line, "+.1", 95 * MS)


def test_the_end_of_a_call_is_by_the_clock_of_its_begin() -> None:
    line = timeline()
    line.came(time("+0"), START + 50 * MS)
    relative = line.window_to(time("+.01...0.2"), 200 * MS)
    assert relative is not None
    assert relative.earliest == START + 250 * MS
    absolute = line.window_to(time("0.1...0.2"), 200 * MS)
    assert absolute is not None
    assert absolute.earliest == START + 200 * MS
    assert line.window_to(time("*"), 200 * MS) is None


def test_how_late_is_told_in_seconds_since_the_start() -> None:
    line = timeline()
    assert line.lateness(line.window(time("+.1")), START + 100 * MS) == []
    assert line.lateness(None, START) == []
    (one,) = line.lateness(line.window(time("+.1")), START + 200 * MS)
    assert str(one) == "time: expected 0.100000 s, got 0.200000 s"
    (one,) = line.lateness(line.window(time("+.1~+.15")), START)
    assert str(one) == "time: expected 0.100000 s to 0.150000 s, got 0.000000 s"


def test_stamps_are_forgiven_a_share_of_the_whole_run() -> None:
    line = timeline(share=0.125)
    assert line.stamp_tolerance(START + MS) == 4 * MS
    assert line.stamp_tolerance(START + 800 * MS) == 100 * MS
    line.acted(time("+0"), START, Span(START, START + 3 * MS))
    assert line.stamp_tolerance(START + MS) == 7 * MS
