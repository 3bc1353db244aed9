"""A campaign as JSON, and its findings as text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from scapy_tfo import __version__, spec
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.differences import DIFFERS
from scapy_tfo.executor.pair import AGAINST
from scapy_tfo.executor.verdict import NO_COOKIE, TracedPacket
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.findings.causes import leads
from scapy_tfo.fuzz.findings.coverage import sorted_out
from scapy_tfo.fuzz.findings.finding import ALIVE, Finding, Status, to_record
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.program.program import Step, to_json
from scapy_tfo.report.diagram import WIDTH, draw
from scapy_tfo.suite.result import CapturedPacket

SCHEMA = 1
_LEAST_WIDTH = 60
_QUIET = 60.0
"""Seconds without anything new from which on that is said."""


def figures_of(
    store: Store, *, new: Collection[str] = (), gone: Collection[str] = (), ended: str = "finished"
) -> dict[str, Any]:
    """A campaign in the form that `--json` writes.

    probes: segments sent; single_syns: those of volleys; sequences: programs; put_off: programs
    that wait for timers and were not sent; unjudged_because: how many were sent in vain, by the
    reason. seconds: of sending; clock_seconds, cpu_seconds: of all, by the clock and of this tool's
    processes. reached: pairs of state and reply; edges, edge_pairs: see `executor.coverage`. curve:
    seconds, programs and all of these, with those of the corpus, wherever they grew; quiet: seconds
    since then. findings: the confirmed ones, each with whether it is new, and the id of the first
    of its cause; flaky: those that did not come each time. new, gone: ids of findings that the list
    of known ones lacks, and of those in it that do not happen any more. untried: kinds of
    violations that were seen and neither confirmed nor refuted, as a campaign leaves them that was
    interrupted, or short of time. ended: how.
    """
    plan, totals, findings = store.plan, store.totals(), store.findings()
    curve, (clock, cpu) = store.curve(), store.spent
    covered = sorted_out(frozenset(curve.first))
    confirmed = [each for each in findings if each.status is Status.CONFIRMED]
    first = leads(confirmed)
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
        "clock_seconds": round(clock, 3),
        "cpu_seconds": round(cpu, 3),
        "put_off": store.late_ones(),
        "heard": totals.heard,
        "unjudged": sum(totals.unjudged.values()),
        "unjudged_because": dict(totals.unjudged),
        "batches": totals.batches,
        "reached": covered.states,
        "edges": covered.edges,
        "edge_pairs": covered.pairs,
        "target_edges": covered.target,
        "curve": [list(each) for each in curve.points],
        "quiet": round(curve.quiet, 3),
        "fingerprints": {"seeded": totals.seeded, "mutated": totals.mutated},
        "counters": store.counters(),
        "findings": [
            to_record(each, new=each.id in new) | {"cause": first[each.id]} for each in confirmed
        ],
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
        f" in {figures['seconds']:.1f} s of sending ({_rates(figures, seconds)} a second),"
        f" {figures['reached']} pairs of state and reply"
    )
    if edges := figures.get("edges"):
        text += f", {edges:,} edges"
    if branches := figures.get("target_edges"):
        text += f", {branches:,} pairs of branches, or counters, of the target"
    text += told_quiet(figures.get("quiet", 0.0))
    if put_off := figures.get("put_off", 0):
        text += f", {put_off:,} programs that wait for timers not sent (--resume sends them)"
    if unjudged := figures["unjudged"]:
        text += f", {unjudged:,} programs not judged ({told_reasons(figures['unjudged_because'])})"
    if kinds := _kinds(figures["untried"]):
        text += f", {kinds} of violations not tried again yet"
    return text


def told_reasons(unjudged: Mapping[str, int]) -> str:
    """Why programs were not judged, the most frequent reason first."""
    ranked = sorted(unjudged.items(), key=lambda each: (-each[1], each[0]))
    if len(ranked) == 1:
        return ranked[0][0]
    return "; ".join(f"{count:,}: {why}" for why, count in ranked)


def last_word(figures: dict[str, Any]) -> str:
    """What it all came to, in one line."""
    new = [each for each in figures["findings"] if each["new"]]
    others = len(figures["findings"]) - len(new) + len(figures["flaky"])
    if new:
        causes = len({each["cause"] for each in new})
        word = f"{_number(len(new), 'new finding')} of {_number(causes, 'cause')}"
    elif others:
        word = f"nothing new: {_number(others, 'finding')} known or flaky"
    else:
        word = "nothing confirmed" if figures["untried"] else "nothing found"
    return f"{figures['target']}: {word}"


_RATED = {"sequences": "programs", "probes": "segments", "heard": "replies"}


def _rates(figures: Mapping[str, Any], seconds: float) -> str:
    return ", ".join(f"{figures[name] / seconds:,.0f} {told}" for name, told in _RATED.items())


def told_rates(figures: Mapping[str, Any]) -> str:
    """What a second of the clock, and one of this tool's CPU, came to, with all that is no sending:
    confirming, reducing, and waiting; "" where that was not measured."""
    clock, cpu = figures["clock_seconds"], figures["cpu_seconds"]
    if not clock or not cpu:
        return ""
    return (
        f"A second of the clock ({clock:.1f} s in all): {_rates(figures, clock)};"
        f" a second of CPU ({cpu:.1f} s): {_rates(figures, cpu)}"
    )


def told_quiet(seconds: float) -> str:
    """That nothing new was reached for so long, "" for a short time."""
    if seconds < _QUIET:
        return ""
    return f", nothing new for {_number(round(seconds / 60), 'minute')}"


def told_curve(points: Sequence[Sequence[float]]) -> list[str]:
    """How coverage grew: a line for each doubling of the programs sent."""
    lines = []
    least = 0.0
    for at, (seconds, programs, names) in enumerate(points):
        if programs >= least or at == len(points) - 1:
            least = 2 * programs
            lines.append(f"{seconds:>10.1f} s {programs:>12,.0f} programs {names:>10,.0f} reached")
    return lines


def undecided(store: Store) -> str:
    """What a campaign that has ended does not tell, "" where it tells all."""
    totals = store.totals()
    without = totals.unjudged.get(NO_COOKIE, 0)
    if 2 * without > totals.programs:
        return (
            f"{store.plan.target}: {NO_COOKIE} in {without:,} of {totals.programs:,} programs,"
            " which are not judged: is fast open on there?"
        )
    kinds = _kinds(len({each.kind for each in store.open_sightings()}))
    if not kinds:
        return ""
    return (
        f"{store.plan.target}: {kinds} of violations not confirmed in time: go on with --resume, "
        "which tries them first, or give a longer --for"
    )


def _kinds(count: int) -> str:
    return _number(count, "kind") if count else ""


def line_of(finding: Finding, *, mark: str = "", lead: str = "") -> str:
    """A finding in one line. lead: the id of the first one of the same cause."""
    steps = len(finding.reduced.steps)
    return (
        f"{mark or finding.status.value:<9} {finding.id:<16} {finding.rule}"
        f" ({_number(steps, 'step')}, in {_number(finding.count, 'program')}):"
        f" {judged(finding)}" + (f"; one cause with {lead}" if lead not in ("", finding.id) else "")
    )


def judged(finding: Finding) -> str:
    """What was wrong, in words; of two targets, what each did."""
    if finding.requirement == DIFFERS and AGAINST in finding.target:
        first, second = finding.target.split(AGAINST, 1)
        return f"where {second} shows {finding.expected}, {first} shows {finding.actual}"
    if finding.rule == ALIVE:
        return f"the target died: {finding.actual}"
    return f"expected {finding.expected}; got {finding.actual}"


def by_weight(findings: Iterable[Finding]) -> list[Finding]:
    """In the order in which they are told: of what the target died first, then rule by rule, and
    after each those that are of one cause with it."""
    every = list(findings)
    first, by_id = leads(every), {each.id: each for each in every}

    def weight(finding: Finding) -> tuple[bool, str, int, str, bool, str, int, str]:
        lead = by_id[first[finding.id]]
        own = finding.rule, finding.number, finding.id
        return (
            *(lead.rule != ALIVE, lead.rule, lead.number, lead.id),
            *(finding.id != lead.id, *own),
        )

    return sorted(every, key=weight)


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
