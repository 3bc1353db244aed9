"""Draws the improvements of page loads next to published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scapy_tfo.gain.chart import chart
from scapy_tfo.gain.pages.experiment import Cell

_SIZE = 8.0, 4.5
_WIDTH = 0.27


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Bars of percent for each page and round-trip time: ours with intervals, the paper's, and the
    reproduction's. path: ends in .png or .svg. Raises as `chart` does."""
    with chart(path, _SIZE) as axes:
        cells = [each for each in cells if each.percent is not None]
        places = range(len(cells))
        ours = [each.percent for each in cells if each.percent is not None]
        axes.bar(
            [at - _WIDTH for at in places],
            [each.value for each in ours],
            _WIDTH,
            yerr=[
                [each.value - each.low for each in ours],
                [each.high - each.value for each in ours],
            ],
            capsize=2,
            label="here",
        )
        for step, name, published in (
            (0, "paper, table 1", [each.paper for each in cells]),
            (1, "CS244", [each.cs244 for each in cells]),
        ):
            there = [(at, each.percent) for at, each in enumerate(published) if each is not None]
            if there:
                axes.bar(
                    [at + step * _WIDTH for at, _ in there],
                    [percent for _, percent in there],
                    _WIDTH,
                    label=name,
                )
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xticks(
            list(places),
            [f"{each.title}\n{each.rtt * 1000:g} ms" for each in cells],
            rotation=45,
            ha="right",
            fontsize=8,
        )
        axes.set_ylabel("sooner with fast open (%)")
