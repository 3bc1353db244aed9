"""Parts that the experiments share: arguments, results kept after an early end, figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from scapy_tfo.cli import main
from scapy_tfo.commands.gain import common
from scapy_tfo.errors import TargetError
from scapy_tfo.gain.measuring.estimate import Estimate

QUIET = Console(quiet=True)


def breaking(after: int, error: BaseException) -> Iterator[int]:
    yield from range(after)
    raise error


def test_an_error_keeps_what_was_measured_and_is_told_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = TargetError("it has gone")
    kept, broken = common.collect(QUIET, lambda _: breaking(2, error), 5)
    assert kept == [0, 1]
    with pytest.raises(TargetError, match="it has gone"):
        common.status(kept, 5, broken)
    assert "broken off: 2 of 5 measured" in capsys.readouterr().err


def test_an_error_before_anything_was_measured_ends_it() -> None:
    with pytest.raises(TargetError):
        common.collect(QUIET, lambda _: breaking(0, TargetError("it has gone")), 5)


def test_ctrl_c_before_anything_was_measured_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        common.collect(QUIET, lambda _: breaking(0, KeyboardInterrupt()), 5)


def test_ctrl_c_keeps_what_was_measured() -> None:
    kept, broken = common.collect(QUIET, lambda _: breaking(2, KeyboardInterrupt()), 5)
    assert (kept, common.status(kept, 5, broken)) == ([0, 1], 130)


def test_times_are_read_once_each_and_not_beyond_all_patience() -> None:
    assert common.times("20ms,0.02s,1") == [0.02, 1.0]
    with pytest.raises(argparse.ArgumentTypeError, match="longest"):
        common.times("20ms,11s")


def test_nothing_saved_has_no_sign() -> None:
    assert common.shown(Estimate(-0.001, -0.002, 0.001)) == "0.00 ±0.00"


@pytest.mark.parametrize(("pairs", "said"), [(1, True), (5, True), (6, False)])
def test_too_few_pairs_are_told(pairs: int, said: bool, capsys: pytest.CaptureFixture[str]) -> None:
    common.tell_few(Console(), pairs)
    assert ("too narrow" in capsys.readouterr().out) == said


def test_a_chart_of_another_kind_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gain", "latency", "--plot", str(tmp_path / "a.pdf")]) == 2
    assert ".png or .svg" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "given"), [("numpy", []), ("matplotlib", ["--plot", "a.svg"])])
def test_what_is_missing_is_told_before_anything_is_measured(
    module: str,
    given: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["gain", "latency", *given]) == 2
    assert "pip install 'scapy-tfo[gain]'" in capsys.readouterr().err
