"""A campaign as Markdown, for the job page of a CI service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scapy_tfo import spec

_TITLES = ("", "finding", "requirement", "expected", "got", "steps", "programs")


def markdown(figures: dict[str, Any]) -> str:
    """The figures that `--json` writes as a page: totals, then findings, new ones first."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    new = [each for each in figures["findings"] if each["new"]]
    known = [each for each in figures["findings"] if not each["new"]]
    yield f"### scapy-tfo fuzz {_safe(figures['target'])}: {_headline(len(new), len(known))}"
    yield ""
    seconds = max(figures["seconds"], 1e-9)
    yield (
        f"{figures['sequences']:,} programs, {figures['probes']:,} segments in"
        f" {figures['seconds']:,.0f} s of sending ({figures['probes'] / seconds:,.0f} a second),"
        f" {figures['reached']} pairs of state and reply. Seed {figures['seed']}, grammar"
        f" {_safe(figures['grammar'])}, profile {_safe(figures['profile'])}."
    )
    rows = [
        *(("**NEW**", each) for each in new),
        *(("known", each) for each in known),
        *(("flaky", each) for each in figures["flaky"]),
    ]
    if rows:
        yield ""
        yield _row(_TITLES)
        yield _row(("---",) * len(_TITLES))
        for mark, each in rows:
            yield _row((mark, *_cells(each)))
    for gone in figures["gone"]:
        yield ""
        yield f"Known finding {_safe(gone)} no longer occurs: remove it from the list."


def _headline(new: int, known: int) -> str:
    if new:
        return f"{new} new finding{'s' * (new != 1)}"
    return "nothing new" if known else "no findings"


def _cells(finding: dict[str, Any]) -> Iterator[str]:
    requirement = spec.load().get(finding["requirement"])
    level = f" ({requirement.level})" if requirement is not None else ""
    yield f"`{finding['id']}`"
    yield _safe(finding["requirement"] + level)
    yield _safe(finding["expected"])
    yield _safe(finding["actual"])
    yield str(finding["steps"])
    yield f"{finding['count']:,}"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """The text with all characters escaped that Markdown takes for markup."""
    for character in "\\`*_{}[]<>|~#&":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())
