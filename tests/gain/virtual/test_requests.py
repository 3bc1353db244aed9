"""Requests and transactions on virtual time take what the closed form says, to the nanosecond."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.cli import main
from scapy_tfo.gain import latency, rate
from scapy_tfo.gain.link_shape import Line
from scapy_tfo.gain.virtual.closed_form import (
    PAPER_TCP,
    flights,
    paper_compute,
    request_seconds,
    transaction_ratio,
)
from scapy_tfo.gain.virtual.requests import measure_latency, measure_rate

NEAR = 1e-8
SEGMENT, WINDOW = 1448, 10
"""Bytes of text in a full segment with timestamps, and segments of the first flight."""

HEAD = 78
"""Bytes of the answer's head, at most."""


@settings(deadline=None, max_examples=25)
@given(
    rtt=st.floats(0.0001, 0.5),
    size=st.integers(1, 300_000),
)
def test_a_request_takes_its_flights_and_a_fast_open_a_round_trip_less(
    rtt: float, size: int
) -> None:
    """But for sizes so near to the end of a flight that the head's length decides."""
    least, most = (flights(size + head, SEGMENT, WINDOW) for head in (0, HEAD))
    (cell,) = measure_latency(latency.Plan(rtts=[rtt], sizes=[size], times=1))
    trips = round(cell.tfo / rtt)
    assert least <= trips <= most
    assert cell.tcp == pytest.approx(request_seconds(rtt, trips, fast_open=False), abs=NEAR)
    assert cell.tfo == pytest.approx(request_seconds(rtt, trips, fast_open=True), abs=NEAR)
    assert cell.early == 1.0
    assert cell.control is not None
    assert cell.control.value * rtt == pytest.approx(0.0, abs=NEAR)
    assert not cell.refused


@pytest.mark.parametrize(
    ("size", "count"),
    [(1, 1), (SEGMENT * 10, 1), (SEGMENT * 10 + 1, 2), (SEGMENT * 30, 2), (SEGMENT * 71, 4)],
)
def test_flights_double(size: int, count: int) -> None:
    assert flights(size, SEGMENT, WINDOW) == count


def test_a_limited_rate_adds_the_time_of_the_bytes() -> None:
    """A million bits a second, which the answer of 10,000 bytes takes 0.08 s and its headers 2 %
    more."""
    line = Line(down=1e6)
    (cell,) = measure_latency(latency.Plan(rtts=[0.1], sizes=[10_000], times=1, line=line))
    assert 0.18 < cell.tfo < 0.19
    # The handshake's SYN-ACK is another 0.5 ms on the link; with a fast open it is, too.
    assert cell.tcp - cell.tfo == pytest.approx(0.1, abs=0.001)


@settings(deadline=None, max_examples=10)
@given(rtt=st.floats(0.0001, 0.05), compute=st.floats(0.0, 0.01))
def test_the_ratio_of_transactions_is_that_of_the_closed_form(rtt: float, compute: float) -> None:
    plan = rate.Plan(rtts=[rtt], seconds=20 * rtt)
    (point,) = measure_rate(plan, compute=compute)
    assert point.ratio is not None
    assert point.ratio.value == pytest.approx(transaction_ratio(rtt, compute), rel=1e-6)
    assert point.measured == pytest.approx(rtt, abs=NEAR)
    assert point.predicted == pytest.approx(point.ratio.value, rel=1e-6)
    assert point.control.value == pytest.approx(1.0)
    assert point.early == 1.0


def test_thousands_of_transactions_do_not_meet_the_one_before_of_their_port() -> None:
    (point,) = measure_rate(rate.Plan(rtts=[0.0001], seconds=0.3))
    assert point.tcp == pytest.approx(5000, rel=1e-6)
    assert point.tfo == pytest.approx(10_000, rel=1e-6)


def test_the_papers_transaction_would_have_gained_more_from_a_whole_round_trip() -> None:
    compute = paper_compute(0.0001)
    (point,) = measure_rate(rate.Plan(rtts=[0.0001], seconds=0.02), compute=compute)
    assert point.tcp == pytest.approx(PAPER_TCP, rel=1e-4)
    assert point.ratio is not None
    assert point.ratio.value == pytest.approx(1.404, abs=0.001)


def test_the_same_seed_gives_the_same_figures_on_a_link_that_loses_packets() -> None:
    plan = latency.Plan(rtts=[0.05], sizes=[60_000], times=6, line=Line(loss=0.05), seed=3)
    one, other = (list(measure_latency(plan)) for _ in range(2))
    assert one == other
    assert max(each["last"] for each in one[0].samples["tcp"]) > 0.25


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "a.json"
    words = ["--virtual", "--rtt", "20ms", "--json", str(figures)]
    assert main(["gain", "latency", *words, "--size", "1000"]) == 0
    assert "1.00 ±0.00" in capsys.readouterr().out
    assert json.loads(figures.read_text())["clock"] == "virtual"
    assert main(["gain", "rate", *words]) == 0
    said = capsys.readouterr().out
    assert "2.00 ±0.00" in said
    assert "On virtual time" in said
    assert json.loads(figures.read_text())["clock"] == "virtual"


@pytest.mark.parametrize(
    "words",
    [
        ["latency", "--virtual", "--client", "kernel"],
        ["latency", "--virtual", "--precision", "3%"],
        ["latency", "--virtual", "--link", "own"],
        ["latency", "--virtual", "--target", "http://127.0.0.1/"],
        ["rate", "--virtual"],
        ["rate", "--virtual", "--rtt", "1ms", "--clients", "2"],
        ["rate", "--compute", "1ms"],
        ["pages", "--virtual", "--browser"],
    ],
)
def test_what_says_nothing_on_virtual_time(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gain", *words]) == 2
    assert capsys.readouterr().err.startswith("scapy-tfo: ")
