"""Writes docs/generated/oracle.md: which rules there are, and how often each applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scapy_tfo.mutants.registry import all_tcp_mutants
from scapy_tfo.oracle import registry
from scapy_tfo.tcp_rules import TcpRules

COMMAND = "make watched"

_HEAD = f"""# What the oracle watches

Made by `{COMMAND}`: one run of all cases, slow ones too, at both addresses of the reference and of
Linux, and some thousand programs of the fuzzer at each. A number says how often a rule was held
against a packet, or against a silence. The rules themselves are in [rules.md](rules.md).

A rule of *traffic* follows from what both ends have sent: it is watched beside every case and every
program. A rule of the *model* follows from what a right target may do by then with all that it was
sent: only the fuzzer keeps track of that.

Each rule of traffic is broken by the mutants beside it, `sim:NAME`, which `scapy-tfo mutants` lists
with the case or stimulus that shows them; some of these need `--slow`. There, nothing but the rule
tells of its mutant ([rules-left-out.md](rules-left-out.md)); elsewhere other rules and cases may.

| watched as | rules | of | source | broken by | {{heads}} |
|---|---|---|---|---|{{lines}}|"""

Counts = Mapping[str, int]
"""How often each rule applied, by its id; rules that never did may be missing."""


def watched_markdown(rules: TcpRules, runs: Mapping[str, Counts]) -> str:
    """The page. runs: who watched, and where, as the head of a column; what applied how often."""
    heads = " | ".join(runs)
    lines = [_HEAD.format(heads=heads, lines="|".join("--:" for _ in runs)), *_rows(rules, runs)]
    return "\n".join([*lines, "", *_left(rules, runs)])


def _rows(rules: TcpRules, runs: Mapping[str, Counts]) -> Iterator[str]:
    mutants = all_tcp_mutants()
    for rule in registry.every().values():
        named = [each for each in rules.values() if rule.id in each.rule]
        told = ", ".join(each.id for each in named) or rule.requirement
        source = ", ".join(dict.fromkeys(each.source for each in named))
        broken = ", ".join(f"`{each.name}`" for each in mutants if each.breaks == rule.id)
        counts = " | ".join(f"{counts.get(rule.id, 0):,}" for counts in runs.values())
        of = "traffic" if rule.of_traffic else "model"
        yield f"| {rule.id} | {told} | {of} | {source} | {broken} | {counts} |"


def _left(rules: TcpRules, runs: Mapping[str, Counts]) -> Iterator[str]:
    every = registry.every()
    never = [name for name in every if not any(counts.get(name) for counts in runs.values())]
    traffic = {name for name, each in every.items() if each.of_traffic}
    watched = [each for each in rules.values() if traffic & set(each.rule)]
    fuzzed = [each for each in rules.values() if each.rule and each not in watched]
    open_ = [each.id for each in rules.values() if not each.rule]
    yield f"Never exercised: {', '.join(never) or 'none'}."
    yield ""
    yield (
        f"Of {len(rules)} rules of plain TCP, {len(watched)} are watched as rules of traffic,"
        f" {len(fuzzed)} more as rules of the model, and {len(open_)} by none:"
        f" {', '.join(open_)}."
    )
    yield ""
