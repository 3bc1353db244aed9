"""What became of the fast opens in a capture, for a terminal or a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_tfo.report.capture_summary import (
    ACCEPTED,
    LOST,
    REFUSED,
    WRONG,
    Summary,
    milliseconds,
)
from scapy_tfo.report.escape import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from scapy_tfo.dissector.connections import Reading

_MOST_ROWS = 20
_MOST_FRAMES = 8
_SEVERITIES = {"error": "bold red", "warning": "yellow"}


def print_capture(reading: Reading, console: Console) -> None:
    """Print the tables: outcomes, servers, broken rules, and connections that are worth a look.

    Each but the first is cut after twenty rows; JSON and HTML have them all.
    """
    summary = Summary(reading)
    console.print(f"Fast open in {one_line(str(reading.capture))}", style="bold", soft_wrap=True)
    console.print(one_line(reading.tool), soft_wrap=True)
    console.print()
    for warning in reading.warnings:
        console.print(f"warning: {one_line(warning)}", style="yellow", soft_wrap=True)
    console.print(summary.headline(), soft_wrap=True)
    if not summary.connections:
        return
    tables = (_outcomes(summary), _servers(summary), _problems(summary), _telling(summary))
    for table in filter(None, tables):
        console.print()
        console.print(table)


def style_of(outcome: str) -> str:
    """The colour of an outcome, as rich names it."""
    for names, style in ((ACCEPTED, "green"), (REFUSED, "yellow"), (WRONG, "bold red")):
        if outcome in names:
            return style
    return "magenta" if outcome in LOST else "dim" if outcome == "unknown" else "cyan"


def _table(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """numbers: names of the columns that are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return table


def _outcomes(summary: Summary) -> Table:
    numbers = ("connections", "sent", "acked", "resent", "trips saved", "RTT ms", "answer ms")
    table = _table("OUTCOMES (bytes in SYNs; medians)", "outcome", *numbers, numbers=numbers)
    for row in [*summary.outcomes, summary.total]:
        table.add_row(
            _styled(row.name, "bold" if row is summary.total else style_of(row.name)),
            f"{row.connections:,}",
            f"{row.sent:,}",
            f"{row.acknowledged:,}",
            f"{row.resent:,}",
            "" if row.round_trips is None else f"{row.round_trips:+,}",
            milliseconds(row.rtt),
            milliseconds(row.first_answer),
        )
    return table


def _servers(summary: Summary) -> Table:
    numbers = ("connections", "accepted", "granted", "refused", "lost", "wrong", "unknown")
    table = _table(
        _titled("SERVERS", len(summary.servers)),
        *("server", *numbers, "RTT ms"),
        numbers=(*numbers, "RTT ms"),
    )
    for each in summary.servers[:_MOST_ROWS]:
        groups = (ACCEPTED, ("requested-granted",), REFUSED, LOST, WRONG, ("unknown",))
        counts = [each.among(names) for names in groups]
        cells = [f"{count:,}" if count else "." for count in (each.connections, *counts)]
        table.add_row(one_line(each.name), *cells, milliseconds(each.rtt))
    return table


def _problems(summary: Summary) -> Table | None:
    if not summary.problems:
        return None
    title = _titled("PROBLEMS", len(summary.problems))
    table = _table(title, "severity", "rule", "times", "packets", numbers=("times",))
    for each in summary.problems[:_MOST_ROWS]:
        table.add_row(
            _styled(one_line(each.severity), _SEVERITIES.get(each.severity, "")),
            one_line(each.rule),
            f"{len(each.frames):,}",
            _frames(each.frames),
        )
    return table


def _telling(summary: Summary) -> Table | None:
    telling = summary.telling
    if not telling:
        return None
    title = _titled("WORTH A LOOK", len(telling))
    table = _table(
        title, "stream", "client", "server", "outcome", "why", "packets", numbers=("stream",)
    )
    for each in telling[:_MOST_ROWS]:
        table.add_row(
            str(each.stream),
            one_line(each.client),
            one_line(each.endpoint),
            _styled(one_line(each.outcome), style_of(each.outcome)),
            one_line(each.why),
            _frames(each.frames),
        )
    return table


def _titled(name: str, count: int) -> str:
    if count <= _MOST_ROWS:
        return f"{name} ({count:,})"
    return f"{name} (the first {_MOST_ROWS} of {count:,}; --json and --html have them all)"


def _frames(frames: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, frames[:_MOST_FRAMES]))
    return f"{shown}, ..." if len(frames) > _MOST_FRAMES else shown


def _styled(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style)
