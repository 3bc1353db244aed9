"""A run for GitHub Actions: the summary of a job in Markdown, and annotations."""

from __future__ import annotations

from collections.abc import Iterator

from scapy_tfo.report.escape import in_markdown, one_line
from scapy_tfo.report.outline import HEADINGS, Outline, evidence, label, labels
from scapy_tfo.suite.result import Result, Run, Standing

MOST_ANNOTATIONS = 10
"""Of a kind: GitHub shows no more of one step."""

_KINDS = {Standing.FAIL: "error", Standing.FIXED: "error", Standing.WARNING: "warning"}


def job_summary(run: Run, *, strict: bool = False, name: str = "") -> str:
    """The run as Markdown. name: of the stack, else the target."""
    return "\n".join(_summary(Outline(run, strict=strict), name or run.target)) + "\n"


def workflow_commands(run: Run, *, strict: bool = False) -> list[str]:
    """Workflow commands, one for each failure that no other explains, and one for a run that did
    not reach its end."""
    outline = Outline(run, strict=strict)
    told: list[str] = []
    for kind in ("error", "warning"):
        places = [place for place, of in _KINDS.items() if of == kind]
        leads = outline.leads(*places)[:MOST_ANNOTATIONS]
        told += [_command(kind, label(each), _said(each)) for each in leads]
    if run.gone or run.interrupted:
        told.append(_command("error", "scapy-tfo", run.gone or "interrupted before the end"))
    return told


def _summary(outline: Outline, name: str) -> Iterator[str]:
    run = outline.run
    yield f"### TCP Fast Open: {in_markdown(name)}\n"
    yield f"{in_markdown(outline.verdict_line())}\n"
    for places, heading in HEADINGS:
        groups = outline.groups(*places)
        if not groups:
            continue
        yield f"**{heading}**\n"
        yield "| case | requirements | reason |"
        yield "|---|---|---|"
        for group in groups:
            cases = ", ".join(map(in_markdown, labels(group.results)))
            broken = dict.fromkeys(name for each in group.results for name in each.requirements)
            yield f"| {cases} | {in_markdown(', '.join(broken))} | {in_markdown(group.reason)} |"
        yield ""
    if run.notes:
        yield from (f"- {in_markdown(note)}" for note in run.notes)


def _said(result: Result) -> str:
    return (
        f"{result.reason} ({', '.join(result.requirements)}); expected: {result.expected}; "
        f"actual: {result.actual}; {evidence(result)}"
    )


def _command(kind: str, title: str, message: str) -> str:
    named = _data(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={named}::{_data(message)}"


def _data(text: str) -> str:
    """Text that ends no command: line feeds are escaped before, and a per cent sign starts none."""
    return one_line(text).replace("%", "%25")
