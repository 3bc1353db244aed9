"""scripts/gain_controls.py: what it demands of three runs, and the page that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gain_verdicts

    return gain_verdicts


def interval(value: float, reach: float = 0.01) -> dict[str, float]:
    return {"value": value, "low": value - reach, "high": value + reach}


def experiment(name: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    around = {"load_before": 0.1, "load_after": 2.0, "steal": 0.01}
    awake = {"before": {"median": 0.0003, "late": 0.0005}}
    told = {"tool": "scapy-tfo 0.1.0", "kernel": "6.18", "time": "2026-11-23T16:00:00Z"}
    told |= {"experiment": name, "command": f"{name} --rounds 6"}
    return {**told, "surroundings": around, "awake": awake, "cells": cells}


def run(
    ratio: float = 1.6, saved: float = 1.0, control: float = 1.0, refused: str = ""
) -> list[dict[str, Any]]:
    rate = {"rtt": 0.0001, "tcp": 2000.0, "tfo": 3200.0, "pairs": 16, "refused": refused}
    rate |= {"effect": None if refused else interval(ratio), "control": interval(control)}
    load = {"rate": 500, "effect": interval(0.9), "control": interval(1.0), "refused": ""}
    cells = [
        {"rtt": 0.02, "size": size, "effect": interval(saved), "control": interval(0.0)}
        | {"pairs": 6, "refused": ""}
        for size in range(20)
    ]
    return [
        experiment("rate", [rate]),
        experiment("load", [{**load, "pairs": 6}]),
        experiment("latency", cells),
    ]


def stored(*loaded: list[dict[str, Any]]) -> dict[str, Any]:
    about = {"cores": 2, "seconds": 1100.0}
    idle = {**about, "busy": 0, "runs": [run(), run()]}
    return {"idle": idle, "loaded": {**about, "busy": 1, "runs": list(loaded)}}


def test_runs_that_agree_leave_nothing_to_be_desired(verdicts: Any) -> None:
    found = stored(run(ratio=1.64), run(saved=1.02))
    assert verdicts.unmet(found) == []
    assert "the highest is 2.5% over the lowest" in verdicts.page(found)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"ratio": 1.75}, "`rate`"),
        ({"saved": 1.03}, "`latency`"),
        ({"control": 1.06}, "controls"),
        ({"control": 1.06, "refused": "its control is 1.06"}, "`rate`"),
    ],
)
def test_what_is_not_so_is_named(verdicts: Any, changes: Any, what: str) -> None:
    (unmet,) = verdicts.unmet(stored(run(), run(**changes)))
    assert unmet.startswith(what)


def test_a_cell_of_too_few_pairs_does_not_count(verdicts: Any) -> None:
    short = run()
    short[2]["cells"][0]["pairs"] = 5
    (unmet,) = verdicts.unmet(stored(short))
    assert unmet.startswith("`latency`")


def test_a_refused_cell_is_told_with_its_reason(verdicts: Any) -> None:
    said = verdicts.page(stored(run(control=1.06, refused="its control is 1.06")))
    assert "| loaded | 1 | rate, 0.1 ms | its control is 1.06 |" in said


def test_of_a_machine_that_was_not_measured_the_page_says_so(verdicts: Any) -> None:
    found = {"idle": stored()["idle"]}
    assert "- loaded: not measured." in verdicts.page(found)
