"""Writes docs/generated/oracle.md: which rules of TCP are watched, and how often each applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scapy_tfo.oracle.conduct.conduct import RULES
from scapy_tfo.tcp_rules import TcpRules

COMMAND = "make watched"

_HEAD = f"""# What is watched beside the cases

Made by `{COMMAND}`: one run of all cases, slow ones too, at both addresses of the reference and of
Linux. A number says how often a rule was held against a packet. The rules themselves are in
[rules.md](rules.md).

| watched as | rules | {{heads}} |
|---|---|{{lines}}|"""


def watched_markdown(rules: TcpRules, runs: Mapping[str, Mapping[str, int]]) -> str:
    """The page. runs: by target, how many packets each rule was held against."""
    heads = " | ".join(f"`{each}`" for each in runs)
    lines = [_HEAD.format(heads=heads, lines="|".join("--:" for _ in runs)), *_rows(rules, runs)]
    return "\n".join([*lines, "", *_left(rules, runs)])


def _rows(rules: TcpRules, runs: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for rule in RULES:
        ids = ", ".join(each.id for each in rules.values() if rule.name in each.rule)
        counts = " | ".join(f"{counts.get(rule.name, 0):,}" for counts in runs.values())
        yield f"| {rule.name} | {ids} | {counts} |"


def _left(rules: TcpRules, runs: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    names = {rule.name for rule in RULES}
    never = [
        rule.name for rule in RULES if not any(counts.get(rule.name) for counts in runs.values())
    ]
    watched = [each for each in rules.values() if names & set(each.rule)]
    fuzzed = [each for each in rules.values() if each.rule and each not in watched]
    open_ = [each.id for each in rules.values() if not each.rule]
    yield f"Never exercised: {', '.join(never) or 'none'}."
    yield ""
    yield (
        f"Of {len(rules)} rules, {len(watched)} are watched beside the cases, {len(fuzzed)} more"
        f" are judged by the fuzzer, and {len(open_)} by neither: {', '.join(open_)}."
    )
    yield ""
