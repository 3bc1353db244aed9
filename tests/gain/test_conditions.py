"""Cells that are no result: their numbers are withheld, and the exit status says so."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.commands.gain.conditions import precision
from scapy_tfo.gain import rate
from scapy_tfo.gain.closed_loops import Loop
from scapy_tfo.gain.measuring.estimate import Estimate
from tests.gain.measuring.test_awake import gone, loops_of

BAD = Estimate(1.54, 1.14, 1.94)
LOOP = Loop(count=1, seconds=1.0, client_busy=0.1, server_cpu=0.1, rtt=0.0001, early=1.0)


def point(rtt: float, control: Estimate, refused: str) -> rate.Point:
    return rate.Point(
        rtt=rtt,
        measured=rtt,
        link="own",
        tcp=581.0,
        tfo=825.0,
        ratio=Estimate(1.42, 0.54, 2.3),
        predicted=1.1,
        control=control,
        cpu=Estimate(0.77, 0.7, 0.8),
        client_busy=0.5,
        server_busy=0.5,
        early=1.0,
        limit="waiting",
        samples={"tcp": [LOOP], "tfo": [LOOP], "control": [LOOP]},
        refused=refused,
    )


@pytest.fixture
def one_bad_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two. What is measured stands here; all that is told of it is the command's."""
    points = [
        point(0.0001, BAD, "its control is 1.54 (1.14 to 1.94), and must be 1"),
        point(0.001, Estimate(1.0, 0.99, 1.01), ""),
    ]
    monkeypatch.setattr(rate, "measure", lambda *_: iter(points))


@pytest.mark.usefixtures("one_bad_point")
def test_the_number_is_withheld_and_the_exit_status_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, chart = tmp_path / "a.json", tmp_path / "a.svg"
    words = ["--rtt", "0.1ms,1ms", "--json", str(figures), "--plot", str(chart)]
    assert main(["gain", "rate", *words]) == 3
    said, errors = capsys.readouterr()
    (row,) = (line for line in said.splitlines() if line.strip().startswith("0.1  "))
    assert "no result" in row
    assert "1.42" not in row
    assert "because its control is 1.54" in " ".join(said.split())
    assert "1 of 2 cells are no result" in errors
    bad, good = json.loads(figures.read_text())["cells"]
    assert (bad["ratio"], bad["predicted"], bad["cpu"]) == (None, None, None)
    assert bad["control"] == {"value": 1.54, "low": 1.14, "high": 1.94}
    assert bad["samples"]["tcp"]
    assert good["ratio"]["value"] == 1.42
    assert "measured" in chart.read_text()


@pytest.mark.usefixtures("one_bad_point")
def test_noise_is_shown_where_it_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "a.json"
    words = ["--rtt", "0.1ms,1ms", "--accept-noise", "--json", str(figures)]
    assert main(["gain", "rate", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1.42 ±0.88 1.10 1.54 ±0.40" in said
    assert "0.1 ms: accepted though it is no result, because its control" in said
    assert json.loads(figures.read_text())["cells"][0]["refused"]


@pytest.mark.usefixtures("one_bad_point")
def test_the_conditions_stand_beside_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "a.json"
    main(["gain", "rate", "--rtt", "0.1ms,1ms", "--json", str(figures)])
    said = " ".join(capsys.readouterr().out.split())
    assert "A SCHED_IDLE loop on each core kept the processors awake: a wake-up costs" in said
    assert "involuntary switches a second" in said
    found = json.loads(figures.read_text())
    assert found["awake"]["way"] == "loop"
    assert found["awake"]["before"]["median"] > 0
    around = found["surroundings"]
    assert around["seconds"] > 0
    assert min(around["load_before"], around["load_after"], around["switches"]) >= 0
    assert around["steal"] is None or 0 <= around["steal"] <= 1


@pytest.mark.parametrize("text", ["0", "0%", "-1%", "101%", "3ms", ""])
def test_a_precision_that_is_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write percent"):
        precision(text)


def test_a_precision() -> None:
    assert precision("3%") == precision("3") == 0.03


def test_a_command_that_is_killed_leaves_nothing_that_keeps_processors_awake() -> None:
    words = ["rate", "--rtt", "300ms", "--rounds", "1000", "--link", "own"]
    with subprocess.Popen(
        [sys.executable, "-m", "scapy_tfo", "gain", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as command:
        try:
            while command.poll() is None and not loops_of(command.pid):
                time.sleep(0.02)
            there = loops_of(command.pid)
        finally:
            command.kill()
    if not there:
        pytest.skip(f"the command ended with status {command.returncode}")
    assert gone(command.pid)
