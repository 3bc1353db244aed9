"""Groups findings by their cause: what else is wrong in the run of one is another one.

A stack that hands over the text of a refused SYN acknowledges it, and answers it early: two rules
are broken, by one fault. Findings are of one cause if the reduced program of one breaks the rule of
the other in the same state by the same class of reply, and the same wrong cookies show both.
"""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo.fuzz.findings.finding import ALIVE, Finding, Status
from scapy_tfo.oracle.parts.violation import Violation

_ORDER = ("syn-ack", "ack", "text", "fin")
"""Classes of replies as they follow each other."""


def manner_of(violation: Violation) -> str:
    """State, rule and reply, by which a violation in the run of one finding is found again in
    another."""
    return "|".join((violation.state, violation.rule, violation.reply))


def leads(findings: Iterable[Finding]) -> dict[str, str]:
    """For each finding, by its id, that of the first one of the same cause: of a death before all
    others, else the one with the shortest program, and of those the earliest."""
    ordered = sorted(findings, key=_weight)
    lead: dict[str, str] = {}
    for each in ordered:
        if each.id in lead:
            continue
        lead[each.id] = each.id
        group, at = [each], 0
        while at < len(group):
            for other in ordered:
                if other.id not in lead and _are_one(group[at], other):
                    lead[other.id] = each.id
                    group.append(other)
            at += 1
    return lead


def _weight(finding: Finding) -> tuple[bool, int, int, int, str]:
    order = _ORDER.index(finding.reply) if finding.reply in _ORDER else len(_ORDER)
    steps = len(finding.reduced.steps)
    return finding.rule != ALIVE, steps, finding.number, order, finding.id


def _are_one(first: Finding, second: Finding) -> bool:
    sure = first.status is second.status is Status.CONFIRMED
    if not sure or first.cookie != second.cookie:
        return False
    return _manner(second) in first.beside or _manner(first) in second.beside


def _manner(finding: Finding) -> str:
    return f"{finding.state}|{finding.rule}|{finding.reply}"
