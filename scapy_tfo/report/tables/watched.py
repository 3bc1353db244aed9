"""Writes docs/generated/oracle.md: which rules there are, and how often each applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scapy_tfo.mutants.registry import all_tcp_mutants
from scapy_tfo.oracle import registry
from scapy_tfo.tcp_rules import TcpRules
from scapy_tfo.trust.rule_checks import breaking

COMMAND = "make watched"

_HEAD = f"""# What the oracle watches

Made by `{COMMAND}`: one run of all cases, slow ones too, at both addresses of the reference and of
Linux, and some thousand programs of the fuzzer at each. A number says how often a rule was held
against a packet, or against a silence. The rules themselves are in [rules.md](rules.md).

A rule of *traffic* follows from what both ends have sent: it is watched beside every case and every
program. A rule of the *model* follows from what a right target may do by then with all that it was
sent: only the fuzzer keeps track of that.

Each rule is broken by the mutants beside it, `sim:NAME`, which `scapy-tfo mutants` lists. Those of
a rule of traffic stand there with the case or stimulus that shows them; some of these need
`--slow`. There, nothing but the rule tells of its mutant ([rules-left-out.md](rules-left-out.md));
elsewhere other rules and cases may. A rule of the model tells of its mutants by programs of the
fuzzer. One rule, `counters-balance`, is about the counters of a kernel: no mutant has those.

| watched as | rules | of | source | broken by | {{heads}} |
|---|---|---|---|---|{{lines}}|"""

Counts = Mapping[str, int]
"""How often each rule applied, by its id; rules that never did may be missing."""


def watched_markdown(
    rules: TcpRules, runs: Mapping[str, Counts], proofs: Sequence[Mapping[str, Any]]
) -> str:
    """The page. runs: who watched, and where, as the head of a column; what applied how often.
    proofs: as `trust.rule_checks.proof` makes them."""
    heads = " | ".join(runs)
    lines = [
        _HEAD.format(heads=heads, lines="|".join("--:" for _ in runs)),
        *_rows(rules, runs, proofs),
    ]
    return "\n".join([*lines, "", *_left(rules, runs)])


def _rows(
    rules: TcpRules, runs: Mapping[str, Counts], proofs: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    mutants = all_tcp_mutants()
    for rule in registry.every().values():
        named = [each for each in rules.values() if rule.id in each.rule]
        told = ", ".join(each.id for each in named) or rule.requirement
        source = ", ".join(dict.fromkeys(each.source for each in named))
        breaking_it = [each.name for each in mutants if each.breaks == rule.id]
        if not rule.of_traffic:
            breaking_it = [*breaking(rule.id, proofs)]
        broken = ", ".join(f"`{each}`" for each in breaking_it)
        counts = " | ".join(f"{counts.get(rule.id, 0):,}" for counts in runs.values())
        of = "traffic" if rule.of_traffic else "model"
        yield f"| {rule.id} | {told} | {of} | {source} | {broken} | {counts} |"


def _left(rules: TcpRules, runs: Mapping[str, Counts]) -> Iterator[str]:
    every = registry.every()
    never = [name for name in every if not any(counts.get(name) for counts in runs.values())]
    traffic = {name for name, each in every.items() if each.of_traffic}
    watched = [each for each in rules.values() if traffic & set(each.rule)]
    fuzzed = [each for each in rules.values() if each.rule and each not in watched]
    others = [each for each in rules.values() if not each.rule]
    asked = [each.id for each in others if each.shown is not None]
    unjudged = [each.id for each in others if each.shown is None]
    yield f"Never exercised: {', '.join(never) or 'none'}."
    yield ""
    yield (
        f"Of {len(rules)} rules of plain TCP, {len(watched)} are watched as rules of traffic,"
        f" {len(fuzzed)} more as rules of the model, and {len(asked)} are asked by cases, laws of"
        f" clients or schedules alone: {', '.join(asked)}. {len(unjudged)} are not judged, as right"
        f" stacks break them or nobody outside can see them: {', '.join(unjudged)};"
        " [rule-mutants.md](rule-mutants.md) says why."
    )
    yield ""
