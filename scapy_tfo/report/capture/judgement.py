"""What the rules of plain TCP say of captures, as text and as JSON: schema 1."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scapy_tfo import __version__
from scapy_tfo.capture.judging.verdict import ConnectionVerdict, EndVerdict, Finding, Judgement
from scapy_tfo.errors import SetupError
from scapy_tfo.report.escape import encodable, one_line
from scapy_tfo.tcp_rules import TcpRule
from scapy_tfo.units import plural

SCHEMA = 1
_LISTED = 20
"""Connections that the text lists unless all are asked for."""

Judged = tuple[Path, Judgement]
Rules = Mapping[str, TcpRule]
"""The rules by the name of what judges them."""


def by_judge(rules: Mapping[str, TcpRule]) -> Rules:
    """The rules by the name of what judges them, the first of each."""
    return {name: rule for rule in reversed(list(rules.values())) for name in rule.rule}


def fails(judgement: Judgement, rules: Rules) -> bool:
    """Whether a rule was broken that nobody may break, by another end than this suite."""
    return any(
        rules[finding.rule].level.fails_run
        for each in judgement.connections
        for end in each.ends
        if not each.is_suite(end)
        for finding in end.broken
    )


def judgement_lines(judged: Judged, rules: Rules, *, every: bool = False) -> Iterator[str]:
    """The report line by line: the file, the connections in which a rule was broken, and what was
    not judged. every: list each connection, and what was not judged of it."""
    path, judgement = judged
    shown = f"{one_line(str(path))}: {judgement.packets:,} packets, {judgement.segments:,} of TCP"
    by_us = ", by this suite alone, on purpose" if _is_ours_alone(judgement) else ""
    broken = f"rules are broken in {judgement.broken:,}{by_us}"
    yield f"{shown}, {plural(judgement.count, 'connection')}; {broken}"
    for note in judgement.notes:
        yield f"note: {one_line(note)}"
    if not judgement.count:
        yield "note: nothing was judged: no connection of TCP that was asked for is in it"
    yield from _broken(judgement, rules)
    telling = judgement.connections if every else [e for e in judgement.connections if e.is_broken]
    most = len(telling) if every else _LISTED
    for each in telling[:most]:
        yield ""
        yield from _of_connection(path, each, rules, every=every)
    if len(telling) > most:
        yield ""
        yield f"and {len(telling) - most:,} more: give --all, or --json"
    yield from _unjudged(judgement, rules)


def _is_ours_alone(judgement: Judgement) -> bool:
    """Whether rules are broken, and by no other end than this suite's."""
    broken = [each for each in judgement.connections if each.is_broken]
    ours = all(each.is_suite(end) for each in broken for end in each.ends if end.broken)
    # What is left out to bound the memory may be anybody's.
    return bool(broken) and len(broken) == judgement.broken and ours


def _broken(judgement: Judgement, rules: Rules) -> Iterator[str]:
    """Each rule that was broken, and how many ends broke it."""
    found = Counter(
        (finding.rule, end.role, each.is_suite(end))
        for each in judgement.connections
        for end in each.ends
        for finding in end.broken
    )
    for (name, role, is_suite), count in found.most_common():
        noun = role if count == 1 else f"{role}s"
        told = " (this suite, on purpose)" if is_suite else ""
        yield f"  {count:>9,} {noun}: {rules[name].id} {name}{told}"


def _of_connection(
    path: Path, connection: ConnectionVerdict, rules: Rules, *, every: bool
) -> Iterator[str]:
    place = f", captured at {connection.place}" if connection.place else ""
    case = f", {one_line(connection.case)}" if connection.case else ""
    ends = f"{connection.client.end} > {connection.server.end}"
    yield f"{ends}, from frame {connection.first} on{place}{case}"
    for end in connection.ends:
        for finding in end.broken:
            yield from _of_finding(path, end, finding, rules)
            if connection.is_suite(end):
                yield "    by this suite, on purpose"
            elif not end.is_there:
                yield "    by this end, or by something between it and the capture"
        for finding in end.unsure if every else ():
            yield from _of_finding(path, end, finding, rules, unless=True)
        for doubt, names in end.unjudged.items() if every else ():
            told = f"{plural(len(names), 'rule')} not judged: {doubt} ({', '.join(names)})"
            yield f"  {end.role}: {told}"


def _of_finding(
    path: Path, end: EndVerdict, finding: Finding, rules: Rules, *, unless: bool = False
) -> Iterator[str]:
    rule = rules[finding.rule]
    begin = "may break" if unless else "breaks"
    statement = one_line(rule.statement.rstrip("."))
    yield f"  {end.role} {begin} {rule.id} ({rule.level.value}, {rule.source}): {statement}"
    yield f"    expected  {one_line(finding.expected)}"
    yield f"    actual    {one_line(finding.actual)}"
    if unless:
        yield "    unless the capture lacks packets, or one that was cut short was spoiled"
    frames = " || ".join(f"frame.number=={each}" for each in finding.packets)
    more = finding.count - len(finding.packets)
    begin = f"    {finding.rule}, {finding.count:,} packets" if more > 0 else f"    {finding.rule}"
    yield f"{begin}: tshark -r {shlex.quote(one_line(str(path)))} -Y '{frames}'"


def _unjudged(judgement: Judgement, rules: Rules) -> Iterator[str]:
    if judgement.unsure:
        found = Counter(
            finding.rule
            for each in judgement.connections
            for end in each.ends
            for finding in end.unsure
        )
        counts = found.most_common()
        told = ", ".join(f"{rules[name].id} {name} ({count:,})" for name, count in counts)
        yield ""
        yield (
            f"in {plural(judgement.unsure, 'connection')}, rules are broken unless the capture "
            f"lacks packets, or one that was cut short was spoiled (--all says where): {told}"
        )
    if judgement.doubts:
        yield ""
        yield "not judged of some rules (--all says which):"
        for doubt, count in judgement.doubts.most_common():
            yield f"  {count:>9,} {'end' if count == 1 else 'ends'}: {doubt}"


def judgements_json(judged: Sequence[Judged], rules: Rules) -> dict[str, Any]:
    """Plain dicts, lists, strings and numbers. The names are those of `Judgement` and its parts;
    `broken` and `unsure` have the rules, with their ids in specs/."""
    return {
        "schema": SCHEMA,
        "tool": f"scapy-tfo {__version__}",
        "captures": [
            {
                "capture": encodable(str(path)),
                "packets": each.packets,
                "segments": each.segments,
                "notes": [encodable(note) for note in each.notes],
                "count": each.count,
                "broken": each.broken,
                "unsure": each.unsure,
                "left_out": each.left_out,
                "held": dict(sorted(each.rules.items())),
                "doubts": {doubt.name.lower(): count for doubt, count in each.doubts.items()},
                "connections": [_connection(one, rules) for one in each.connections],
            }
            for path, each in judged
        ],
    }


def _connection(connection: ConnectionVerdict, rules: Rules) -> dict[str, Any]:
    return {
        "first": connection.first,
        "interface": connection.interface,
        "place": connection.place,
        "case": encodable(connection.case),
        **{end.role: _end(end, rules) for end in connection.ends},
    }


def _end(end: EndVerdict, rules: Rules) -> dict[str, Any]:
    return {
        "end": end.end,
        "packets": end.packets,
        "held": dict(sorted(end.held.items())),
        "broken": [_finding(each, rules) for each in end.broken],
        "unsure": [_finding(each, rules) for each in end.unsure],
        "unjudged": {doubt.name.lower(): list(names) for doubt, names in end.unjudged.items()},
        "lacking": list(end.lacking),
    }


def _finding(finding: Finding, rules: Rules) -> dict[str, Any]:
    rule = rules[finding.rule]
    return {
        "rule": rule.id,
        "name": finding.rule,
        "level": rule.level.value,
        "source": rule.source,
        "count": finding.count,
        "packets": list(finding.packets),
        "expected": encodable(finding.expected),
        "actual": encodable(finding.actual),
    }


def write_judgements(judged: Sequence[Judged], rules: Rules, path: Path) -> None:
    """Write the JSON to a file. Raises SetupError where that is not possible."""
    try:
        path.write_text(json.dumps(judgements_json(judged, rules)) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
