"""A campaign that is under way as a page that renews itself: how far it is, and what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scapy_tfo.report.page import head, safe, tail

EVERY = 2
"""Seconds after which the page is read again."""

_WIDTH, _HEIGHT = 640, 160

_FIGURES = (
    ("sequences", "programs"),
    ("probes", "segments"),
    ("heard", "replies"),
    ("unjudged", "programs not judged"),
    ("reached", "pairs of state and reply"),
    ("edges", "edges"),
    ("edge_pairs", "pairs of edges"),
    ("target_edges", "pairs of branches, or counters, of the target"),
    ("untried", "kinds of violations to be confirmed"),
    ("put_off", "programs put off, because they wait for timers"),
)


def dashboard(
    figures: Mapping[str, Any],
    rates: Sequence[tuple[str, float]],
    lines: Sequence[str],
    slowest: Sequence[tuple[float, int]],
    *,
    left: float | None,
    over: bool,
) -> str:
    """The page.

    figures: as `figures_of` has them. rates: of this run, each with its name, per second. lines:
    a finding each. slowest: seconds and number of a program. left: seconds, None where nothing
    tells. over: the campaign has ended, and the page is read no more.
    """
    return "\n".join(_page(figures, rates, lines, slowest, left, over)) + "\n"


def _page(
    figures: Mapping[str, Any],
    rates: Sequence[tuple[str, float]],
    lines: Sequence[str],
    slowest: Sequence[tuple[float, int]],
    left: float | None,
    over: bool,
) -> Iterator[str]:
    title = safe(f"Fuzzing {figures['target']}")
    for part in head(title):
        renews = "" if over else f'<meta http-equiv="refresh" content="{EVERY}">\n'
        yield part.replace("<title>", f"{renews}<title>")
    state = figures["ended"] if over else "running" if left is None else f"{_clock(left)} left"
    yield f"<h1>{title}</h1>\n<p>{safe(str(state))}; seed {figures['seed']}</p>"
    yield f"<p>{_news(figures['quiet'])}</p>"
    yield '<table id="figures">'
    for name, told in _FIGURES:
        if figures[name] or name in ("sequences", "untried"):
            yield _row(told, f"{figures[name]:,}")
    for told, rate in rates:
        yield _row(f"{told} a second", f"{rate:,.0f}")
    yield "</table>"
    yield "<h2>Covered</h2>"
    yield _drawn(figures["curve"])
    yield f"<h2>Findings: {len(lines)}</h2>"
    yield "<ul>" if lines else "<p>none so far</p>"
    yield from (f'<li class="t">{safe(each)}</li>' for each in lines)
    yield "</ul>" if lines else ""
    yield "<h2>Slowest programs</h2>\n<table>"
    for seconds, number in slowest:
        yield _row(f"program {number:,}", f"{seconds:.3f} s")
    yield "</table>"
    yield tail()


def _news(quiet: float) -> str:
    if quiet < 1:
        return "Something new was covered within the last second of sending."
    return f"The last new thing was covered {_clock(quiet)} ago, counted in sending."


def _row(told: str, value: str) -> str:
    return f'<tr><td>{safe(told)}</td><td class="n">{safe(value)}</td></tr>'


def _drawn(points: Sequence[Sequence[float]]) -> str:
    """The curve of what is covered over the programs sent."""
    most_programs = max((each[1] for each in points), default=0)
    most_names = max((each[2] for each in points), default=0)
    if not most_programs or not most_names:
        return "<p>nothing yet</p>"
    places = " ".join(
        f"{_WIDTH * programs / most_programs:.1f},{_HEIGHT * (1 - names / most_names):.1f}"
        for _, programs, names in points
    )
    told = f"{most_names:,.0f} after {most_programs:,.0f} programs"
    return (
        f'<svg viewBox="0 -4 {_WIDTH} {_HEIGHT + 8}" width="{_WIDTH}" role="img"'
        f' aria-label="{told}"><polyline points="{places}" fill="none" stroke="currentColor"'
        f' stroke-width="2"/></svg>\n<p class="dim">{told}</p>'
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
