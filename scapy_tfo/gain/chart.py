"""Round trips saved over the round-trip time, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.latency import Cell
from scapy_tfo.gain.saving import Estimate

_SIZE = 7.0, 4.5


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw a line for each size, with the intervals, and TCP against itself. path: ends in .png or
    .svg. Raises SetupError where Matplotlib is missing, or the file cannot be written."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise SetupError("a chart needs Matplotlib: pip install 'scapy-tfo[gain]'") from None
    figure, axes = pyplot.subplots(figsize=_SIZE, layout="constrained")
    try:
        pairs = dict.fromkeys((each.client, each.server) for each in cells)
        for client, server in pairs:
            ends = f"{client} to {server}, " if len(pairs) > 1 else ""
            own = [each for each in cells if (each.client, each.server) == (client, server)]
            for size in sorted({each.size for each in own}):
                line = [each for each in own if each.size == size and each.trips is not None]
                _line(axes, line, f"{ends}{size:,} bytes", [each.trips for each in line], "o-")
        flat = [each for each in own if each.control is not None and each.size == own[0].size]
        _line(axes, flat, f"{ends}TCP against itself", [each.control for each in flat], "x:")
        axes.axhline(1.0, color="grey", linewidth=0.8)
        axes.set_xlabel("round-trip time (ms)")
        axes.set_ylabel("round trips saved")
        axes.set_ylim(bottom=min(-0.1, axes.get_ylim()[0]))
        axes.legend(fontsize="small")
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise SetupError(f"cannot write {path}: {error}") from error
    finally:
        pyplot.close(figure)


def _line(
    axes: Any, cells: Sequence[Cell], label: str, found: Sequence[Estimate | None], style: str
) -> None:
    estimates = [each for each in found if each is not None]
    low = [each.value - each.low for each in estimates]
    high = [each.high - each.value for each in estimates]
    at = [each.rtt * 1000 for each in cells]
    values = [each.value for each in estimates]
    axes.errorbar(at, values, yerr=[low, high], fmt=style, capsize=3, label=label)
