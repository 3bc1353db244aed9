"""Transactions in a closed loop over an emulated link, with fast open and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.gain.rate import Plan, Point, measure


def points(plan: Plan) -> list[Point]:
    try:
        return list(measure(plan))
    except SetupError as error:
        pytest.skip(str(error))


def test_half_of_two_round_trips_is_saved() -> None:
    """A transaction takes two of 20 ms, or one; all else takes little beside that."""
    (point,) = points(Plan(rtts=[0.02], rounds=3, clients=2))
    assert point.tcp < 2 / 0.04
    assert point.tfo < 2 / 0.02
    assert 1.5 < point.ratio.value < 2.5
    assert point.predicted <= 2.01
    assert point.cpu is not None
    assert point.limit == "link"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points(Plan(rtts=[0.0], rounds=1, seconds=0.05))
    given = ["--rtt", "0.1ms", "--rounds", "1", "--json", str(tmp_path / "a.json")]
    assert main(["gain", "rate", *given]) == 0
    assert "1.23" in capsys.readouterr().out
    (point,) = json.loads((tmp_path / "a.json").read_text())["cells"]
    assert point["rtt"] == 0.0001
