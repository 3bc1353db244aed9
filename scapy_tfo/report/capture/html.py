"""The outcomes of the fast opens in a capture, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scapy_tfo.dissector.connections import Connection
from scapy_tfo.errors import SetupError
from scapy_tfo.report.capture.summary import (
    GROUPS,
    MOST_CONNECTIONS,
    Summary,
    milliseconds,
    seconds,
    signed,
)
from scapy_tfo.report.capture.tally import Endpoint, Row
from scapy_tfo.report.capture.text import clock
from scapy_tfo.report.page import head, safe, tail

_LEAST_BARS, _BAR, _HIGH = 2, 16, 120
_BARS = """
.bars{width:100%;max-height:12rem;border-bottom:1px solid var(--edge)}
.g-accepted{fill:var(--good);color:var(--good)}.g-granted{fill:#4a90d9;color:#4a90d9}
.g-refused{fill:var(--warn);color:var(--warn)}.g-lost{fill:#b66dbf;color:#b66dbf}
.g-wrong{fill:var(--bad);color:var(--bad)}.g-unknown{fill:var(--calm);color:var(--calm)}
"""
_CLASSES = {"accepted": "pass", "refused": "warning", "lost": "warning", "wrong": "fail"}

Cell = tuple[str, str]
"""A text, and the class of its cell: see `report.page.STYLE`, "" for none."""


def html_page(summary: Summary) -> str:
    """The whole report as an HTML document; every string of the captures is escaped."""
    return "\n".join(_parts(summary)) + "\n"


def write_html(summary: Summary, path: Path) -> None:
    """Write the page. Raises SetupError where that is not possible."""
    try:
        path.write_text(html_page(summary), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def _parts(summary: Summary) -> Iterator[str]:
    names = safe(", ".join(Path(each).name for each in summary.captures))
    title = f"Fast open in {names}"
    yield from head(title, _filter_rules(summary) + _BARS)
    yield f"<h1>{title}</h1>"
    yield f"<p>{safe(summary.tool)}, {safe(', '.join(summary.captures))}</p>"
    for warning in summary.warnings:
        yield f'<p class="warning"><span class="v">warning: {safe(warning)}</span></p>'
    yield f"<p>{safe(summary.headline())}</p>"
    if summary.total.connections:
        yield from _outcomes(summary)
        yield from _blackholes(summary)
        yield from _series(summary)
        yield from _problems(summary)
        yield from _endpoints("Servers", "server", summary.servers)
        yield from _endpoints("Subnets of clients", "subnet", summary.subnets)
        yield from _endpoints("Clients", "client", summary.clients)
        yield from _connections(summary)
    yield tail()


def _outcomes(summary: Summary) -> Iterator[str]:
    yield "<h2>Outcomes</h2>"
    heads = (
        *("connections", "bytes in SYNs", "acknowledged", "sent again"),
        *("round trips saved", "seconds saved", "seconds lost"),
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
    yield seconds(row.seconds_saved), "n"
    yield seconds(row.seconds_lost), "n"
    yield milliseconds(row.rtts.median), "n"
    yield milliseconds(row.first_answers.median), "n"


def _blackholes(summary: Summary) -> Iterator[str]:
    found = summary.blackholes
    if not found:
        return
    yield f"<h2>Blackholes: every SYN with data was lost ({len(found):,})</h2>"
    yield from _table(
        [("client", ""), ("server", ""), ("SYNs with data, all lost", "n"), ("seconds lost", "n")],
        (
            (
                "warning",
                [
                    (each.client, "k"),
                    (each.server, "k"),
                    (f"{each.lost:,}", "n"),
                    (seconds(each.seconds_lost), "n"),
                ],
            )
            for each in found[:MOST_CONNECTIONS]
        ),
    )


def _series(summary: Summary) -> Iterator[str]:
    """Bars, each of the groups above the one before; below them the same as numbers."""
    buckets = list(summary.series.buckets())
    if len(buckets) < _LEAST_BARS:
        return
    yield f"<h2>Over time (UTC, each {buckets[0].width:,.0f} s)</h2>"
    most = max(sum(each.counts.values()) for each in buckets)
    yield f'<svg viewBox="0 0 {len(buckets) * _BAR} {_HIGH}" role="img" class="bars">'
    for place, each in enumerate(buckets):
        bottom = float(_HIGH)
        for name, outcomes in GROUPS:
            size = each.among(outcomes) * _HIGH / most
            bottom -= size
            if size:
                title = f"{clock(each.began)}: {each.among(outcomes):,} {name}"
                yield (
                    f'<rect class="g-{name}" x="{place * _BAR}" y="{bottom:.2f}"'
                    f' width="{_BAR - 2}" height="{size:.2f}"><title>{safe(title)}</title></rect>'
                )
    yield "</svg><p>"
    yield ", ".join(f'<span class="g-{name}">&#9632;</span> {name}' for name, _ in GROUPS)
    yield "</p><details><summary>as numbers</summary>"
    yield from _table(
        [("from", ""), *((name, "n") for name, _ in GROUPS), ("seconds lost", "n")],
        (
            (
                "",
                [
                    (clock(each.began), "k"),
                    *((f"{each.among(group) or ''}", "n") for _, group in GROUPS),
                    (seconds(each.seconds_lost), "n"),
                ],
            )
            for each in buckets
        ),
    )
    yield "</details>"


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
                    (f"{each.times:,}", "n"),
                    (_frames(each.frames), ""),
                ],
            )
            for each in summary.problems
        ),
    )


def _endpoints(heading: str, noun: str, endpoints: list[Endpoint]) -> Iterator[str]:
    yield f"<h2>{heading} ({len(endpoints):,})</h2>"
    names = (
        *("connections", *(name for name, _ in GROUPS)),
        *("seconds saved", "seconds lost", "median RTT, ms"),
    )
    yield from _table(
        [(noun, ""), *((name, "n") for name in names)],
        (
            (
                "",
                [
                    (each.name, "k"),
                    (f"{each.connections:,}", "n"),
                    *((f"{each.among(group) or ''}", "n") for _, group in GROUPS),
                    (seconds(each.seconds_saved), "n"),
                    (seconds(each.seconds_lost), "n"),
                    (milliseconds(each.rtts.median), "n"),
                ],
            )
            for each in endpoints[:MOST_CONNECTIONS]
        ),
    )


def _connections(summary: Summary) -> Iterator[str]:
    count = summary.total.connections
    yield f"<h2>Connections ({count:,})</h2>"
    yield (
        "<p>Whether the ends of one keep the rules of plain TCP says <code>scapy-tfo capture judge"
        " CAPTURE --between CLIENT SERVER</code>.</p>"
    )
    # What went wrong must not be what is left out.
    shown = [*summary.telling, *summary.fine][:MOST_CONNECTIONS]
    if len(shown) < count:
        yield f"<p>{len(shown):,} of them, noteworthy ones first; JSON and CSV have all.</p>"
    else:
        shown.sort(key=lambda each: (each.capture, min(each.frames, default=0)))
    yield (
        '<input class="pick" type="radio" name="pick" id="pick-all" checked>'
        '<label for="pick-all">all</label>'
    )
    for row in summary.outcomes:
        yield (
            f'<input class="pick" type="radio" name="pick" id="pick-{safe(row.name)}">'
            f'<label for="pick-{safe(row.name)}">{safe(row.name)} ({row.connections:,})</label>'
        )
    heads: list[Cell] = [("capture", ""), ("client", ""), ("server", ""), ("outcome", "")]
    heads += [("why", ""), ("packets", ""), ("bytes", "n"), ("acknowledged", "n")]
    heads += [("RTT, ms", "n"), ("answer, ms", "n"), ("cookie", "")]
    rows = ((f"{_class(each.outcome)} o-{each.outcome}", _cells(each)) for each in shown)
    yield from _table(heads, rows, "cases")


def _cells(each: Connection) -> list[Cell]:
    broken = "".join(f"; {problem.rule} ({problem.frame})" for problem in each.problems)
    return [
        (Path(each.capture).name, ""),
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
    group = next((name for name, names in GROUPS if outcome in names), "")
    return _CLASSES.get(group, "skipped" if group == "unknown" else "")


def _filter_rules(summary: Summary) -> str:
    """Rules that hide the rows of other outcomes, so that the file needs no script."""
    return "\n".join(
        f"#pick-{safe(row.name)}:checked~div table.cases tr[class]:not(.o-{safe(row.name)})"
        "{display:none}"
        for row in summary.outcomes
    )


def _frames(frames: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(map(str, frames[:most]))
    return f"{shown}, ..." if len(frames) > most else shown
