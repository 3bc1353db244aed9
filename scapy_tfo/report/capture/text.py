"""The outcomes of the fast opens in a capture, as text for a terminal or a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from scapy_tfo.report.capture.summary import (
    ACCEPTED,
    LOST,
    REFUSED,
    WRONG,
    Summary,
    milliseconds,
    signed,
)
from scapy_tfo.report.escape import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from scapy_tfo.dissector.connections import Reading

_MOST_ROWS = 20
_WIDTH_OF_A_FILE = 110
_MOST_FRAMES = 8
_SEVERITIES = {"error": "bold red", "warning": "yellow"}


def print_capture(reading: Reading, console: Console) -> None:
    """Print the tables: outcomes, servers, broken rules, and connections that are worth a look.

    Each but the first is cut after twenty rows; JSON and HTML have them all.
    """
    summary = Summary(reading)
    _say(console, f"Fast open in {one_line(str(reading.capture))}", "bold")
    _say(console, one_line(reading.tool))
    _say(console)
    for warning in reading.warnings:
        _say(console, f"warning: {one_line(warning)}", "yellow")
    _say(console, summary.headline())
    if not summary.connections:
        return
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH_OF_A_FILE)
    for table in filter(None, (_outcomes(summary), _servers(summary), _problems(summary))):
        _say(console)
        console.print(table)
    _print_telling(summary, console)


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

    table = Table(
        title=_styled(title, "bold"),
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in columns:
        is_whole = name in (*numbers, "outcome", "severity")
        justify: Literal["left", "right"] = "right" if name in numbers else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=is_whole)
    return table


def _outcomes(summary: Summary) -> Table:
    numbers = ("count", "sent", "acked", "resent", "trips", "RTT ms", "answer ms")
    table = _table(
        "OUTCOMES: bytes in SYNs, round trips saved, medians", "outcome", *numbers, numbers=numbers
    )
    for row in [*summary.outcomes, summary.total]:
        table.add_row(
            _styled(row.name, "bold" if row is summary.total else style_of(row.name)),
            f"{row.connections:,}",
            f"{row.sent:,}",
            f"{row.acknowledged:,}",
            f"{row.resent:,}",
            signed(row.round_trips),
            milliseconds(row.rtt),
            milliseconds(row.first_answer),
        )
    return table


def _servers(summary: Summary) -> Table:
    numbers = ("count", "accepted", "granted", "refused", "lost", "wrong", "unknown")
    table = _table(
        _titled("SERVERS", len(summary.servers)),
        *("server", *numbers, "RTT ms"),
        numbers=(*numbers, "RTT ms"),
    )
    for each in summary.servers[:_MOST_ROWS]:
        groups = (ACCEPTED, ("requested-granted",), REFUSED, LOST, WRONG, ("unknown",))
        counts = [each.among(names) for names in groups]
        cells = [f"{count:,}" if count else "." for count in (each.connections, *counts)]
        table.add_row(_styled(one_line(each.name)), *cells, milliseconds(each.rtt))
    return table


def _problems(summary: Summary) -> Table | None:
    if not summary.problems:
        return None
    title = _titled("PROBLEMS", len(summary.problems))
    table = _table(title, "severity", "rule", "times", "packets", numbers=("times",))
    for each in summary.problems[:_MOST_ROWS]:
        table.add_row(
            _styled(one_line(each.severity), _SEVERITIES.get(each.severity, "")),
            _styled(one_line(each.rule)),
            f"{len(each.frames):,}",
            _frames(each.frames),
        )
    return table


def _print_telling(summary: Summary, console: Console) -> None:
    telling = summary.telling
    if not telling:
        return
    _say(console)
    _say(console, _titled("WORTH A LOOK", len(telling)), "bold")
    for each in telling[:_MOST_ROWS]:
        outcome = one_line(each.outcome)
        text = _styled(f"  {outcome:<24}", style_of(each.outcome))
        text.append(f"{one_line(each.source)} > {one_line(each.endpoint)}, stream {each.stream}")
        console.print(text, soft_wrap=True)
        packets = f" (packets {_frames(each.frames)})" if each.frames else ""
        _say(console, f"    {one_line(each.why)}{packets}")


def _say(console: Console, text: str = "", style: str = "") -> None:
    """A line; what looks like markup in it stays as it is, what cannot be encoded is escaped."""
    fit = text.encode(console.encoding, "backslashreplace").decode(console.encoding)
    console.print(_styled(fit, style), soft_wrap=True)


def _titled(name: str, count: int) -> str:
    if count <= _MOST_ROWS:
        return f"{name} ({count:,})"
    return f"{name} (the first {_MOST_ROWS} of {count:,}; --json and --html have them all)"


def _frames(frames: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, frames[:_MOST_FRAMES]))
    return f"{shown}, ..." if len(frames) > _MOST_FRAMES else shown


def _styled(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style)
