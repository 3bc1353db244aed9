"""Turns the breaches that were seen in all conversations of a run into results of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scapy_tfo.suite.result import Breach, Result, Run, Verdict
from scapy_tfo.tcp_rules import TcpRule

_CITED = 5
"""Packets that a result cites."""
_SHARE = 0.5
"""Of the cases that show a breach: as many must have failed for it to be theirs."""


def with_breaches(run: Run, rules: Mapping[str, TcpRule]) -> Run:
    """The run, with a failure for each rule of TCP that its conversations saw broken.

    A breach that was mostly seen in cases that failed is the same fault: its result names the
    first of them as its cause. So the causes of those have to be known (`causes.explained`).
    """
    known = {name: rule for rule in reversed(list(rules.values())) for name in rule.rule}
    groups: dict[tuple[str, int], list[Breach]] = {}
    for each in run.breaches:
        groups.setdefault((each.rule, each.family), []).append(each)
    failed = {
        f"{each.case} [ipv{each.family}]": each
        for each in run.results
        if each.verdict is Verdict.FAIL or each.cause
    }
    found = [
        _result(known[name], family, breaches, failed)
        for (name, family), breaches in sorted(groups.items())
    ]
    return replace(run, results=(*run.results, *found))


def case_ids(rule: TcpRule) -> list[str]:
    """What stands for a case in the results of a rule, by the names of what judges it."""
    return [f"{rule.id}.{name}" for name in rule.rule]


def _result(
    rule: TcpRule, family: int, breaches: Sequence[Breach], failed: Mapping[str, Result]
) -> Result:
    first = breaches[0]
    owners = list(dict.fromkeys(each.owner for each in breaches))
    theirs = [failed[each] for each in owners if each in failed]
    cause = ""
    if len(theirs) >= _SHARE * len(owners):
        cause = theirs[0].cause or theirs[0].case
    return Result(
        case=f"{rule.id}.{first.rule}",
        title=rule.statement,
        family=family,
        requirements=(rule.id,),
        level=rule.level,
        verdict=Verdict.FAIL if rule.level.can_fail else Verdict.UNSUPPORTED,
        reason=f"{rule.statement.rstrip('.')} ({rule.source}): {first.actual}",
        expected=first.expected,
        actual=first.actual,
        flow=first.flow,
        packets=tuple(each.packet for each in breaches[:_CITED] if each.packet),
        observed={"seen in": _told(owners)},
        cause=cause,
    )


def _told(owners: Sequence[str]) -> str:
    shown = ", ".join(owners[:3])
    return shown if len(owners) <= 3 else f"{shown} and {len(owners) - 3} more"
