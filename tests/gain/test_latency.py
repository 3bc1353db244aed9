"""One request over an emulated link, with fast open and without: real kernels, real nginx."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")
pytest.importorskip("matplotlib", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.gain.chart import draw
from scapy_tfo.gain.latency import Cell, Plan, measure
from scapy_tfo.gain.measuring.estimate import Estimate

TRIES = 4


def cells(plan: Plan) -> list[Cell]:
    try:
        return list(measure(plan))
    except SetupError as error:
        pytest.skip(str(error))


def test_a_round_trip_is_saved_and_the_control_saves_none() -> None:
    for _ in range(TRIES):
        (cell,) = cells(Plan(rtts=[0.1], sizes=[1000], times=6))
        assert cell.early == 1.0
        assert cell.trips is not None
        assert cell.control is not None
        if abs(cell.trips.value - 1) < 0.1 and abs(cell.control.value) < 0.1:
            return
    pytest.fail(f"of {TRIES} measurements none shows one round trip saved: {cell}")


def test_the_command_writes_what_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells(Plan(rtts=[0.0], sizes=[1], times=1))
    given = ["--rtt", "0,5ms", "--size", "1000", "--times", "3", "--accept-noise"]
    files = ["--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg")]
    assert main(["gain", "latency", *given, *files]) == 0
    assert "saved" in capsys.readouterr().out
    figures = json.loads((tmp_path / "a.json").read_text())
    assert [(each["rtt"], each["size"]) for each in figures["cells"]] == [
        (0.0, 1000),
        (0.005, 1000),
    ]
    assert figures["cells"][0]["trips"] is None
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_a_chart_that_cannot_be_written(tmp_path: Path) -> None:
    some = Estimate(1.0, 0.9, 1.1)
    cell = Cell(
        client="kernel",
        server="nginx",
        link="own",
        rtt=0.02,
        size=1000,
        tcp=0.04,
        tfo=0.02,
        tcp_first=0.04,
        tfo_first=0.02,
        early=1.0,
        saved=some,
        trips=some,
        trips_first=some,
        control=some,
        samples={},
    )
    with pytest.raises(SetupError, match="cannot write"):
        draw([cell], tmp_path / "nowhere" / "a.png")
    with pytest.raises(SetupError, match="cannot write"):
        draw([cell], tmp_path / "a.nothing")


@pytest.mark.parametrize(
    "given", [["--rtt", "soon"], ["--size", "0"], ["--down", "fast"], ["--times", "0"]]
)
def test_wrong_arguments(given: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["gain", "latency", *given])
    assert ended.value.code == 2


def test_a_big_response_comes_whole() -> None:
    (cell,) = cells(Plan(rtts=[0.0], sizes=[3_000_000], times=1))
    assert cell.size == 3_000_000
