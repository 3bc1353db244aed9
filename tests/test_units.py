"""Times are read and written with their units."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.cli import parser_of_all
from scapy_tfo.commands.arguments import duration
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.units import seconds_of, shown


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4", 4),
        ("4s", 4),
        ("1.5", 1.5),
        (".5s", 0.5),
        ("250ms", 0.25),
        ("100us", 1e-4),
        ("1.5m", 90),
        ("2h", 7200),
        ("1d", 86400),
        ("0", 0),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "4 s", "-4s", "4S", "4x", "nan", "inf", "1e3", "٤s"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is no time: write 250ms"):
        seconds_of(text)


@given(st.integers(1, 10**7).map(lambda milliseconds: milliseconds / 1000))
def test_what_is_written_can_be_read(seconds: float) -> None:
    assert seconds_of(shown(seconds)) == pytest.approx(seconds, rel=1e-5)


@pytest.mark.parametrize(
    ("seconds", "text"), [(90, "90s"), (120, "2m"), (7200, "2h"), (0.25, "250ms"), (1.5, "1.5s")]
)
def test_times_are_written_as_people_do(seconds: float, text: str) -> None:
    assert shown(seconds) == text


@pytest.mark.parametrize("text", ["0", "0s", "11d", "soon", "1e300"])
def test_a_duration_is_above_0_and_has_an_end(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        duration(text)


@pytest.mark.parametrize(
    ("line", "name", "seconds"),
    [
        ("client --patience 4s sim:reference", "patience", 4),
        ("client --patience 4 sim:reference", "patience", 4),
        ("pkt run --timeout 2m", "timeout", 120),
        ("gain rate --seconds 500ms", "seconds", 0.5),
    ],
)
def test_options_take_units(line: str, name: str, seconds: float) -> None:
    assert getattr(parser_of_all().parse_args(line.split()), name) == seconds


def test_impairments_take_the_same_units() -> None:
    read = Impairment.parse("delay=50000us,jitter=0.02s,loss=5%,reorder=0.1")
    assert str(read) == "delay=50ms,jitter=20ms,loss=5%,reorder=10%"
