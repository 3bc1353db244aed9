"""Draws the results of the experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.measuring.estimate import Estimate

if TYPE_CHECKING:
    from scapy_tfo.gain.latency import Cell
    from scapy_tfo.gain.load import Level
    from scapy_tfo.gain.rate import Point

_SIZE = 7.0, 4.5
_MOST_INSIDE = 6
"""Lines of a legend that fit next to the curves."""


@contextmanager
def chart(path: Path, size: tuple[float, float] = _SIZE) -> Iterator[Any]:
    """Axes to draw on, written at the end. path: ends in .png or .svg. Raises SetupError where
    Matplotlib is missing, or the file cannot be written."""
    pyplot = import_pyplot()
    # The same figures give the same file.
    with pyplot.rc_context({"svg.hashsalt": "scapy-tfo", "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        try:
            yield axes
            if len(axes.get_legend_handles_labels()[1]) > _MOST_INSIDE:
                figure.set_figwidth(1.5 * size[0])
                figure.legend(loc="outside right upper", fontsize="small")
            else:
                axes.legend(fontsize="small")
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        except (OSError, ValueError) as error:
            raise SetupError(f"cannot write {path}: {error}") from error
        finally:
            pyplot.close(figure)


def import_pyplot() -> Any:
    """Matplotlib's. Raises SetupError where it is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise SetupError("a chart needs Matplotlib: pip install 'scapy-tfo[gain]'") from None
    return pyplot


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Round trips saved over the round-trip time, a line for each size and pair of ends, and TCP
    against itself. Raises as `chart` does."""
    with chart(path) as axes:
        pairs = dict.fromkeys((each.client, each.server) for each in cells)
        for client, server in pairs:
            ends = f"{client} to {server}, " if len(pairs) > 1 else ""
            own = [
                each
                for each in cells
                if (each.client, each.server) == (client, server) and each.trips is not None
            ]
            for size in sorted({each.size for each in own}):
                line = [each for each in own if each.size == size]
                at = [each.rtt * 1000 for each in line]
                _line(axes, at, f"{ends}{size:,} bytes", [each.trips for each in line], "o-")
            flat = [each for each in own if each.size == own[0].size]
            at = [each.rtt * 1000 for each in flat]
            _line(axes, at, f"{ends}TCP against itself", [each.control for each in flat], "x:")
        axes.axhline(1.0, color="grey", linewidth=0.8)
        axes.set_xlabel("round-trip time (ms)")
        axes.set_ylabel("round trips saved")
        axes.set_ylim(bottom=min(-0.1, axes.get_ylim()[0]))


def draw_rates(points: Sequence[Point], path: Path) -> None:
    """The ratio of the rates over the measured round-trip time, what is predicted, and the paper's.
    Raises as `chart` does."""
    from scapy_tfo.gain.rate import PAPER

    with chart(path) as axes:
        points = sorted(
            (each for each in points if each.ratio is not None), key=lambda each: each.measured
        )
        at = [each.measured * 1000 for each in points]
        _line(axes, at, "measured", [each.ratio for each in points], "o")
        there = [each for each in points if each.predicted is not None]
        predicted = [each.predicted for each in there]
        axes.plot(
            [each.measured * 1000 for each in there], predicted, "--", label="one round trip less"
        )
        _line(axes, at, "server's CPU per transaction", [each.cpu for each in points], "x:")
        axes.plot(PAPER[0] * 1000, PAPER[1], "*", markersize=12, label="the paper")
        axes.axhline(1.0, color="grey", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("round-trip time that handshakes saw (ms)")
        axes.set_ylabel("fast open / TCP")


def draw_levels(levels: Sequence[Level], path: Path) -> None:
    """Parts of the server's core over the rate. Raises as `chart` does."""
    with chart(path) as axes:
        at = [float(each.rate) for each in levels]
        _line(axes, at, "TCP", [_percent(each.tcp) for each in levels], "o-")
        _line(axes, at, "fast open", [_percent(each.tfo) for each in levels], "s--")
        axes.set_xlabel("requests a second")
        axes.set_ylabel("the server's core (%)")
        axes.set_ylim(bottom=0)


def _percent(part: Estimate) -> Estimate:
    return Estimate(part.value * 100, part.low * 100, part.high * 100)


def _line(
    axes: Any, at: Sequence[float], label: str, found: Sequence[Estimate | None], style: str
) -> None:
    there = [(x, each) for x, each in zip(at, found, strict=True) if each is not None]
    axes.errorbar(
        [x for x, _ in there],
        [each.value for _, each in there],
        yerr=[
            [each.value - each.low for _, each in there],
            [each.high - each.value for _, each in there],
        ],
        fmt=style,
        capsize=3,
        label=label,
    )
