"""The outcomes of the fast opens in a capture, as text for a terminal or a pipe."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from scapy_tfo.report.capture.summary import (
    ACCEPTED,
    GROUPS,
    LOST,
    REFUSED,
    WRONG,
    Summary,
    milliseconds,
    seconds,
    signed,
)
from scapy_tfo.report.escape import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from scapy_tfo.dissector.connections import Connection
    from scapy_tfo.report.capture.tally import Endpoint

_MOST_ROWS = 20
_LEAST_ROWS = 3
_WIDTH_OF_A_FILE = 110
_MOST_FRAMES = 8
_SEVERITIES = {"error": "bold red", "warning": "yellow"}


def print_capture(summary: Summary, console: Console) -> None:
    """Print the tables: outcomes, servers, subnets, blackholes, time, broken rules, and connections
    that are worth a look.

    Each but the first is cut after twenty rows; JSON, CSV and HTML have more.
    """
    _say(console, f"Fast open in {one_line(', '.join(summary.captures))}", "bold")
    _say(console, one_line(summary.tool))
    _say(console)
    for warning in summary.warnings:
        _say(console, f"warning: {one_line(warning)}", "yellow")
    _say(console, summary.headline())
    if not summary.total.connections:
        return
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH_OF_A_FILE)
    tables = (
        _outcomes(summary),
        _hosts("SERVERS", "server", summary.servers),
        _hosts("SUBNETS OF CLIENTS", "subnet", summary.subnets)
        if len(summary.subnets) > 1
        else None,
        _blackholes(summary),
        _series(summary),
        _problems(summary),
    )
    for table in filter(None, tables):
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
    numbers = ("count", "sent", "acked", "resent", "trips", "lost s", "RTT ms", "answer ms")
    table = _table(
        "OUTCOMES: bytes in SYNs, round trips saved, seconds lost, medians",
        *("outcome", *numbers),
        numbers=numbers,
    )
    for row in [*summary.outcomes, summary.total]:
        table.add_row(
            _styled(row.name, "bold" if row is summary.total else style_of(row.name)),
            f"{row.connections:,}",
            f"{row.sent:,}",
            f"{row.acknowledged:,}",
            f"{row.resent:,}",
            signed(row.round_trips),
            seconds(row.seconds_lost),
            milliseconds(row.rtts.median),
            milliseconds(row.first_answers.median),
        )
    return table


def _hosts(title: str, noun: str, hosts: list[Endpoint]) -> Table:
    numbers = ("count", *(name for name, _ in GROUPS), "lost s", "RTT ms")
    table = _table(_titled(title, len(hosts)), noun, *numbers, numbers=numbers)
    for each in hosts[:_MOST_ROWS]:
        counts = [each.among(names) for _, names in GROUPS]
        cells = [f"{count:,}" if count else "." for count in (each.connections, *counts)]
        rtt = milliseconds(each.rtts.median)
        table.add_row(_styled(one_line(each.name)), *cells, seconds(each.seconds_lost), rtt)
    return table


def _blackholes(summary: Summary) -> Table | None:
    found = summary.blackholes
    if not found:
        return None
    title = _titled("BLACKHOLES", len(found))
    numbers = ("SYNs with data, all lost", "lost s")
    table = _table(title, "client", "server", "SYNs with data, all lost", "lost s", numbers=numbers)
    for each in found[:_MOST_ROWS]:
        ends = _styled(one_line(each.client)), _styled(one_line(each.server))
        table.add_row(*ends, f"{each.lost:,}", seconds(each.seconds_lost))
    return table


def _series(summary: Summary) -> Table | None:
    buckets = list(summary.series.coarse(_MOST_ROWS).buckets())
    if len(buckets) < _LEAST_ROWS:
        return None
    numbers = (*(name for name, _ in GROUPS), "lost s")
    table = _table(f"TIME (UTC, each {buckets[0].width:,.0f} s)", "from", *numbers, numbers=numbers)
    for each in buckets:
        counts = [each.among(names) for _, names in GROUPS]
        cells = [f"{count:,}" if count else "." for count in counts]
        table.add_row(clock(each.began), *cells, seconds(each.seconds_lost))
    return table


def clock(when: float) -> str:
    """Seconds since the epoch as `2026-01-31 12:00:00`, in UTC."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _problems(summary: Summary) -> Table | None:
    if not summary.problems:
        return None
    title = _titled("PROBLEMS", len(summary.problems))
    table = _table(title, "severity", "rule", "times", "packets", numbers=("times",))
    for each in summary.problems[:_MOST_ROWS]:
        table.add_row(
            _styled(one_line(each.severity), _SEVERITIES.get(each.severity, "")),
            _styled(one_line(each.rule)),
            f"{each.times:,}",
            _frames(each.frames),
        )
    return table


def _print_telling(summary: Summary, console: Console) -> None:
    if not summary.telling_count:
        return
    _say(console)
    _say(console, _titled("WORTH A LOOK", summary.telling_count), "bold")
    several = len(summary.readings) > 1
    files = {each.capture for each in summary.readings if each.is_file}
    for each in summary.telling[:_MOST_ROWS]:
        outcome = one_line(each.outcome)
        text = _styled(f"  {outcome:<24}", style_of(each.outcome))
        where = f" in {one_line(each.capture)}" if several else ""
        text.append(f"{one_line(each.source)} > {one_line(each.endpoint)}{where}")
        console.print(text, soft_wrap=True)
        packets = f" (packets {_frames(each.frames)})" if each.frames else ""
        _say(console, f"    {one_line(each.why)}{packets}")
        if each.capture in files:
            _say(console, f"    {to_judge(each)}", "dim")


def to_judge(each: Connection) -> str:
    """The command that holds the rules of plain TCP against a connection."""
    ends = shlex.join((one_line(each.source), one_line(each.endpoint)))
    return f"scapy-tfo capture judge {shlex.quote(one_line(each.capture))} --between {ends}"


def _say(console: Console, text: str = "", style: str = "") -> None:
    """A line; what looks like markup in it stays as it is, what cannot be encoded is escaped."""
    fit = text.encode(console.encoding, "backslashreplace").decode(console.encoding)
    console.print(_styled(fit, style), soft_wrap=True)


def _titled(name: str, count: int) -> str:
    if count <= _MOST_ROWS:
        return f"{name} ({count:,})"
    return f"{name} (the first {_MOST_ROWS} of {count:,}; --json and --csv have them all)"


def _frames(frames: Sequence[int]) -> str:
    shown = ", ".join(map(str, frames[:_MOST_FRAMES]))
    return f"{shown}, ..." if len(frames) > _MOST_FRAMES else shown


def _styled(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style)
