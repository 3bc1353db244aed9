"""The outcomes of the fast opens in a capture, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from scapy_tfo.dissector.connections import Connection, Reading
from scapy_tfo.errors import SetupError
from scapy_tfo.report.capture.summary import (
    ACCEPTED,
    LOST,
    REFUSED,
    WRONG,
    Endpoint,
    Row,
    Summary,
    milliseconds,
    signed,
)
from scapy_tfo.report.page import head, safe, tail

MOST_CONNECTIONS = 5000
"""Rows beyond these make a page that no browser shows at once; the JSON has them."""

_GROUPS = (
    ("accepted", ACCEPTED),
    ("granted", ("requested-granted",)),
    ("refused", REFUSED),
    ("lost", LOST),
    ("wrong", WRONG),
    ("unknown", ("unknown",)),
)
_CLASSES = {"accepted": "pass", "refused": "warning", "lost": "warning", "wrong": "fail"}

Cell = tuple[str, str]
"""A text, and the class of its cell: see `report.page.STYLE`, "" for none."""


def html_page(reading: Reading) -> str:
    """The whole report as an HTML document; every string of the capture is escaped."""
    return "\n".join(_parts(Summary(reading))) + "\n"


def write_html(reading: Reading, path: Path) -> None:
    """Write the page. Raises SetupError where that is not possible."""
    try:
        path.write_text(html_page(reading), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def _parts(summary: Summary) -> Iterator[str]:
    reading = summary.reading
    title = f"Fast open in {safe(reading.capture.name)}"
    yield from head(title, _filter_rules(summary))
    yield f"<h1>{title}</h1>"
    yield f"<p>{safe(reading.tool)}, {safe(str(reading.capture))}</p>"
    for warning in reading.warnings:
        yield f'<p class="warning"><span class="v">warning: {safe(warning)}</span></p>'
    yield f"<p>{safe(summary.headline())}</p>"
    if summary.connections:
        yield from _outcomes(summary)
        yield from _problems(summary)
        yield from _endpoints("Servers", "server", summary.servers)
        yield from _endpoints("Clients", "client", summary.clients)
        yield from _connections(summary)
    yield tail()


def _outcomes(summary: Summary) -> Iterator[str]:
    yield "<h2>Outcomes</h2>"
    heads = (
        *("connections", "bytes in SYNs", "acknowledged", "sent again"),
        *("round trips saved", "seconds lost"),
        *("median RTT, ms", "median time to the answer, ms"),
    )
    yield from _table(
        [("outcome", ""), *((head, "n") for head in heads)],
        (
            (_class(row.name), [(row.name, "v"), *_numbers(row)])
            for row in [*summary.outcomes, summary.total]
        ),
    )


def _numbers(row: Row) -> Iterator[Cell]:
    for number in (row.connections, row.sent, row.acknowledged, row.resent):
        yield f"{number:,}", "n"
    yield signed(row.round_trips), "n"
    yield f"{row.seconds_lost:,.1f}" if row.seconds_lost else "", "n"
    yield milliseconds(row.rtt), "n"
    yield milliseconds(row.first_answer), "n"


def _problems(summary: Summary) -> Iterator[str]:
    if not summary.problems:
        return
    yield f"<h2>Problems ({len(summary.problems)})</h2>"
    yield from _table(
        [("severity", ""), ("rule", ""), ("times", "n"), ("packets", "")],
        (
            (
                {"error": "fail", "warning": "warning"}.get(each.severity, ""),
                [
                    (each.severity, "v"),
                    (each.rule, ""),
                    (f"{len(each.frames):,}", "n"),
                    (_frames(each.frames), ""),
                ],
            )
            for each in summary.problems
        ),
    )


def _endpoints(heading: str, noun: str, endpoints: list[Endpoint]) -> Iterator[str]:
    yield f"<h2>{heading} ({len(endpoints):,})</h2>"
    names = ("connections", *(name for name, _ in _GROUPS), "median RTT, ms")
    yield from _table(
        [(noun, ""), *((name, "n") for name in names)],
        (
            (
                "",
                [
                    (each.name, "k"),
                    (f"{each.connections:,}", "n"),
                    *((f"{each.among(group) or ''}", "n") for _, group in _GROUPS),
                    (milliseconds(each.rtt), "n"),
                ],
            )
            for each in endpoints[:MOST_CONNECTIONS]
        ),
    )


def _connections(summary: Summary) -> Iterator[str]:
    yield f"<h2>Connections ({len(summary.connections):,})</h2>"
    shown = summary.connections[:MOST_CONNECTIONS]
    if len(shown) < len(summary.connections):
        # What went wrong must not be what is left out.
        telling = {id(each) for each in summary.telling}
        ordered = sorted(summary.connections, key=lambda each: id(each) not in telling)
        shown = tuple(ordered[:MOST_CONNECTIONS])
        yield f"<p>{len(shown):,} of them, noteworthy ones first; the JSON report has all.</p>"
    yield (
        '<input class="pick" type="radio" name="pick" id="pick-all" checked>'
        '<label for="pick-all">all</label>'
    )
    for row in summary.outcomes:
        yield (
            f'<input class="pick" type="radio" name="pick" id="pick-{safe(row.name)}">'
            f'<label for="pick-{safe(row.name)}">{safe(row.name)} ({row.connections:,})</label>'
        )
    heads: list[Cell] = [("stream", "n"), ("client", ""), ("server", ""), ("outcome", "")]
    heads += [("why", ""), ("packets", ""), ("bytes", "n"), ("acknowledged", "n")]
    heads += [("RTT, ms", "n"), ("answer, ms", "n"), ("cookie", "")]
    rows = ((f"{_class(each.outcome)} o-{each.outcome}", _cells(each)) for each in shown)
    yield from _table(heads, rows, "cases")


def _cells(each: Connection) -> list[Cell]:
    broken = "".join(f"; {problem.rule} ({problem.frame})" for problem in each.problems)
    return [
        (str(each.stream), "n"),
        (each.source, "k"),
        (each.endpoint, "k"),
        (each.outcome, "k v"),
        (each.why + broken, ""),
        (_frames(each.frames), ""),
        ("" if each.sent is None else f"{each.sent:,}", "n"),
        ("" if each.acknowledged is None else f"{each.acknowledged:,}", "n"),
        (milliseconds(each.rtt), "n"),
        (milliseconds(each.first_answer), "n"),
        (each.cookie, "k"),
    ]


def _table(
    heads: Iterable[Cell], rows: Iterable[tuple[str, Iterable[Cell]]], kind: str = ""
) -> Iterator[str]:
    """A table line by line. rows: each with the class of the row."""
    yield f'<div class="wide"><table class="{kind}">\n<tr>{_cells_of("th", heads)}</tr>'
    for name, cells in rows:
        yield f'<tr class="{safe(name)}">{_cells_of("td", cells)}</tr>'
    yield "</table></div>"


def _cells_of(tag: str, cells: Iterable[Cell]) -> str:
    return "".join(f'<{tag} class="{name}">{safe(text)}</{tag}>' for text, name in cells)


def _class(outcome: str) -> str:
    group = next((name for name, names in _GROUPS if outcome in names), "")
    return _CLASSES.get(group, "skipped" if group == "unknown" else "")


def _filter_rules(summary: Summary) -> str:
    """Rules that hide the rows of other outcomes, so that the file needs no script."""
    return "\n".join(
        f"#pick-{safe(row.name)}:checked~div table.cases tr[class]:not(.o-{safe(row.name)})"
        "{display:none}"
        for row in summary.outcomes
    )


def _frames(frames: tuple[int, ...], most: int = 12) -> str:
    shown = ", ".join(map(str, frames[:most]))
    return f"{shown}, ..." if len(frames) > most else shown
