"""A campaign as JSON, and its findings as text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from scapy_tfo import __version__, spec
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.findings.finding import Finding, Status, to_record
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.program.program import Step, to_json
from scapy_tfo.report.diagram import WIDTH, draw
from scapy_tfo.suite.result import CapturedPacket

SCHEMA = 1
_LEAST_WIDTH = 60


def figures_of(
    store: Store, *, new: Collection[str] = (), gone: Collection[str] = (), ended: str = "finished"
) -> dict[str, Any]:
    """A campaign in the form that `--json` writes.

    probes: segments sent; single_syns: those of volleys; sequences: programs. findings: the
    confirmed ones, each with whether it is new; flaky: those that did not come each time. new,
    gone: ids of findings that the list of known ones lacks, and of those in it that do not happen
    any more. untried: kinds of violations that were seen and neither confirmed nor refuted, as
    a campaign leaves them that was interrupted, or short of time. ended: how.
    """
    plan, totals, findings = store.plan, store.totals(), store.findings()
    confirmed = [each for each in findings if each.status is Status.CONFIRMED]
    return {
        "schema": SCHEMA,
        "target": plan.target,
        "tool": f"scapy-tfo {__version__}",
        "profile": plan.profile,
        "grammar": plan.grammar,
        "seed": plan.seed,
        "shard": plan.shard_text,
        "ended": ended,
        "probes": totals.probes,
        "sequences": totals.programs,
        "single_syns": totals.singles,
        "seconds": round(totals.seconds, 3),
        "heard": totals.heard,
        "unjudged": totals.unjudged,
        "batches": totals.batches,
        "reached": len(store.coverage()),
        "fingerprints": {"seeded": totals.seeded, "mutated": totals.mutated},
        "counters": store.counters(),
        "findings": [to_record(each, new=each.id in new) for each in confirmed],
        "flaky": [to_record(each) for each in findings if each.status is Status.FLAKY],
        "gone": list(gone),
        "untried": len(store.open_sightings()),
    }


def write_figures(figures: dict[str, Any], path: Path) -> None:
    """Write them. Raises SetupError where that fails."""
    try:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def keep_figures(figures: dict[str, Any], directory: Path) -> None:
    """Write them into the directory of a campaign. Raises SetupError where that fails."""
    try:
        put(directory / "results.json", json.dumps(figures, indent=1) + "\n")
    except OSError as error:
        raise SetupError(f"cannot write into {directory}: {error.strerror}") from error


def summary(figures: dict[str, Any]) -> str:
    """A campaign in one line."""
    seconds = max(figures["seconds"], 1e-9)
    text = (
        f"{figures['target']}: {figures['sequences']:,} programs, {figures['probes']:,} segments"
        f" in {figures['seconds']:.1f} s of sending ({figures['probes'] / seconds:,.0f} a second),"
        f" {figures['reached']} pairs of state and reply"
    )
    if unjudged := figures["unjudged"]:
        text += f", {unjudged:,} programs not judged"
    if kinds := _kinds(figures["untried"]):
        text += f", {kinds} of violations not tried again yet"
    return text


def undecided(store: Store) -> str:
    """What a campaign that has ended does not tell, "" where it tells all."""
    kinds = _kinds(len({each.kind for each in store.open_sightings()}))
    if not kinds:
        return ""
    return (
        f"{store.plan.target}: {kinds} of violations not confirmed in time: go on with --resume, "
        "which tries them first, or give a longer --for"
    )


def _kinds(count: int) -> str:
    return _number(count, "kind") if count else ""


def line_of(finding: Finding, *, mark: str = "") -> str:
    """A finding in one line."""
    steps = len(finding.reduced.steps)
    return (
        f"{mark or finding.status.value:<9} {finding.id:<16} {finding.rule}"
        f" ({_number(steps, 'step')}, in {_number(finding.count, 'program')}):"
        f" expected {finding.expected}; got {finding.actual}"
    )


def told(finding: Finding) -> Iterator[str]:
    """All of a finding, line by line."""
    seen = _number(finding.count, "program")
    yield f"{finding.id} at {finding.target}: {finding.status.value}, in {seen}"
    requirement = spec.load().get(finding.requirement)
    if requirement is not None:
        sources = "; ".join(requirement.source)
        yield f"  {requirement.id} ({requirement.level}, {sources}): {requirement.statement}"
    yield f"  rule      {finding.rule}"
    yield f"  state     {finding.state}"
    yield f"  expected  {finding.expected}"
    yield f"  actual    {finding.actual}"
    is_sure = finding.status is Status.CONFIRMED
    what = "reduced to these" if is_sure else "which alone do not always show it"
    yield f"  seed      {finding.seed} ({len(finding.program.steps)} steps, {what})"
    yield ""
    raw = to_json(finding.reduced)
    for number, flow in enumerate(raw["flows"]):
        yield f"  flow {number}: {_fields(flow) or 'as usual'}"
    for number, step in enumerate(finding.reduced.steps):
        yield f"  {number:>3} {_step(step, raw['steps'][number])}"
    yield f"  end: {finding.reduced.end}"
    if finding.packets:
        yield ""
        yield draw_packets(finding.packets, [finding.packet])


def draw_packets(packets: Sequence[TracedPacket], wrong: Iterable[int]) -> str:
    """A run of a program as a diagram, or as two, side by side, where it was run at two targets.

    wrong: numbers of packets, from 0; -1 for a silence.
    """
    others = [each for each in packets if each.other]
    if others:
        first = _drawn([each for each in packets if not each.other], wrong)
        return _side_by_side(first, _drawn(others, ()))
    return _drawn(packets, wrong)


def _side_by_side(first: str, second: str) -> str:
    left, right = first.splitlines(), second.splitlines()
    width = max(map(len, left), default=0)
    rows = zip_longest(left, right, fillvalue="")
    return "\n".join(f"{one:<{width}}  |{other}".rstrip() for one, other in rows)


def _drawn(packets: Sequence[TracedPacket], wrong: Iterable[int]) -> str:
    width = min(max(get_terminal_size((WIDTH, 0)).columns, _LEAST_WIDTH), WIDTH)
    captured = [
        CapturedPacket(
            number=number, when=each.when, outbound=each.outbound, data=each.data, comment=""
        )
        for number, each in enumerate(packets, 1)
    ]
    return draw(captured, [each + 1 for each in wrong], width=width)


def _step(step: Step, raw: dict[str, Any]) -> str:
    rest = {name: each for name, each in raw.items() if name != "do"}
    return f"{type(step).__name__.lower():<6} {_fields(rest)}".rstrip()


def _fields(raw: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={each if isinstance(each, int | str) else json.dumps(each)}"
        for name, each in raw.items()
    )


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
