"""scripts/gain_figures.py: what it keeps, and the tables that it puts into the documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

ROOT = Path(__file__).resolve().parents[2]

AROUND = {
    "tool": "scapy-tfo 0.1.0",
    "kernel": "6.18",
    "time": "2026-11-23T16:00:00Z",
    "clock": "real",
    "awake": {
        "way": "loop",
        "before": {"median": 0.0003, "late": 0.0005},
        "with_it": {"median": 0.00002, "late": 0.00003},
    },
    "surroundings": {"load_before": 0.1, "load_after": 2.0, "steal": 0.01},
}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gain_tables

    return gain_tables


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gain_figures

    return gain_figures


def interval(value: float, reach: float = 0.01) -> dict[str, float]:
    return {"value": value, "low": value - reach, "high": value + reach}


def page_cell(**changes: Any) -> dict[str, Any]:
    cell = {
        "page": "wikipedia",
        "rtt": 0.2,
        "tcp": 4.76,
        "tfo": 4.09,
        "percent": interval(14.0, 0.5),
        "control": interval(0.1, 0.2),
        "again": [0.0, 0.0],
        "cold": 4.0,
        "early": 1.0,
        "paper": {"tcp": 5.15, "tfo": 3.03, "percent": 41},
        "cs244": {"tcp": 8.4, "tfo": 7.0, "percent": 16.5},
        "bytes_need": 0.62,
        "requests_need": 0.44,
    }
    return cell | changes


def test_a_table_replaces_the_one_before_and_nothing_else(tables: Any) -> None:
    cell = {"rtt": 0.02, "size": 1000, "trips": interval(1.0), "control": interval(0.0)}
    stored = {"latency": {**AROUND, "cells": [cell]}}
    text = "before\n<!-- figures: latency -->\nold\n<!-- end of figures -->\nafter\n"
    found = tables.placed(text, stored)
    assert found.startswith("before\n<!-- figures: latency -->\n| RTT | 1,000 bytes |")
    assert found.endswith("<!-- end of figures -->\nafter\n")
    assert "| 20 ms | 1.00 ±0.01 | 0.00 ±0.01 |" in found
    assert "a wake-up costs 20 µs instead of 300" in found
    assert "old" not in found
    assert tables.placed(found, stored) == found
    assert tables.placed(text, {}) == text


def test_the_papers_transactions_stand_beside_ours(tables: Any) -> None:
    def at(tcp: float, tfo: float, measured: float = 0.0001) -> dict[str, Any]:
        cell = {"rtt": 0.0001, "tcp": tcp, "tfo": tfo, "measured": measured}
        return {**AROUND, "cells": [cell]}

    stored = {"rate": at(2500.0, 4000.0), "rate-virtual": at(5000.0, 10000.0)}
    stored["rate-computing"] = at(2873.6, 4032.3)
    found = tables.rate_paper(stored)
    assert "| ours | 0.400 | 0.250 | 150 | 100 | 1.60 | 50 µs more than the round trip" in found
    assert "| the paper | 0.348 | 0.282 | 66 | 100 | 1.23 | 34 µs less than the round" in found
    text = "<!-- figures: rate-paper -->\n<!-- end of figures -->\n"
    del stored["rate-computing"]
    assert tables.placed(text, stored) == text


def test_cells_of_a_run_before_are_told(tables: Any) -> None:
    then = {"time": "2026-11-22T10:00:00Z", "surroundings": {"load_before": 11, "load_after": 18}}
    cells = [page_cell(run=then), page_cell(rtt=0.1, run={**then, "time": AROUND["time"]})]
    said = tables.around({**AROUND, "cells": cells})
    assert said.endswith(" Of a run before (2026-11-22, load 11.0 to 18.0): wikipedia at 200 ms.")


def test_a_cell_that_is_no_result_has_no_number(tables: Any) -> None:
    stored = {"pages": {**AROUND, "cells": [page_cell(percent=None)]}}
    (row,) = (line for line in tables.pages(stored).splitlines() if "200 ms" in line)
    assert row.count("no result") == 2
    assert "| -, -, -, 10.6, 7.0 |" in row


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "the page of 2011 saved 7.3 round trips more: ours opens 4"),
        ({"paper": {"tcp": 5.15, "tfo": 4.95, "percent": 4}}, "saved 2.3 round trips less"),
        ({"paper": {"tcp": 5.15, "tfo": 4.5, "percent": 13}}, "as many round trips"),
        ({"again": [54.0, 4.0]}, "TCP sends 54 segments again, fast open 4"),
        ({"requests_need": 3.5}, "the link is full for 3.50 s"),
    ],
)
def test_each_cell_says_why_it_is_another(tables: Any, changes: Any, said: str) -> None:
    assert said in tables.why(page_cell(**changes))


def test_cells_that_are_not_measured_this_time_stay(figures: Any) -> None:
    before = {"experiment": "pages", "cells": [page_cell(), page_cell(rtt=0.1, tcp=9.0)]}
    now = {"experiment": "pages", "cells": [page_cell(rtt=0.1, tcp=3.0)]}
    found = figures.merged(before, now)["cells"]
    assert [(each["rtt"], each["tcp"]) for each in found] == [(0.1, 3.0), (0.2, 4.76)]


def test_samples_are_not_kept(figures: Any) -> None:
    found = {
        "experiment": "pages",
        "loads": [1],
        "cells": [{"page": "wikipedia", "rtt": 0.1, "samples": {}}],
    }
    (cell,) = figures.without_samples(found)["cells"]
    assert cell["bytes_need"] == pytest.approx(0.62, abs=0.01)
    assert "samples" not in cell


def test_the_experiments_fit_into_the_time(figures: Any) -> None:
    """What has no share of it takes seconds."""
    assert sum(each.share or 0 for each in figures.runs(long=False)) <= 0.9


def test_every_table_has_its_place_and_every_place_its_table(tables: Any, figures: Any) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in figures.DOCUMENTS)
    for name in tables.TABLES:
        assert text.count(f"<!-- figures: {name} -->") == 1
    assert text.count("<!-- figures: ") == text.count("<!-- end of figures -->")


def test_the_documents_show_what_is_kept(tables: Any, figures: Any) -> None:
    stored = json.loads(figures.KEPT.read_text(encoding="utf-8"))
    for path in figures.DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        assert tables.placed(text, stored) == text, "run scripts/gain_figures.py --tables"


def test_a_kernel_on_virtual_time_stands_beside_ours(tables: Any) -> None:
    cell = {
        "rtt": 0.001,
        "link": "own",
        "measured": 0.00098,
        "tcp": 424.0,
        "tfo": 789.0,
        "ratio": interval(1.86),
        "predicted": 1.72,
        "control": interval(1.0),
        "cpu": None,
        "limit": "waiting",
    }
    stored = {
        "rate": {**AROUND, "cells": [cell]},
        "rate-virtual": {"cells": [{"rtt": 0.001, "ratio": interval(2.0)}]},
        "rate-kernel": {"cells": [{"rtt": 0.001, "ratio": interval(1.99)}]},
    }
    (row,) = (line for line in tables.rate(stored).splitlines() if line.startswith("| 1 ms"))
    assert "| 1.72 | 2.00 | 1.99 | 1.00 ±0.01 |" in row


def test_what_a_kernel_on_virtual_time_saves_is_told(tables: Any) -> None:
    cell = {"rtt": 0.02, "size": 1000, "trips": interval(1.01), "control": interval(0.0)}
    stored = {
        "latency": {**AROUND, "cells": [cell]},
        "latency-kernel": {
            "kernel": "6.1",
            "cells": [{"trips": interval(1.0, 0.0)}, {"trips": None}, {"trips": interval(1.002)}],
        },
    }
    assert "saves 1.000 to 1.002 round trips in 2 such cells" in tables.latency(stored)
