"""Writes docs/generated/rule-mutants.md: what tells of rules that no rule of traffic judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scapy_tfo.mutants.registry import client_named
from scapy_tfo.tcp_rules import TcpRule
from scapy_tfo.units import plural
from scapy_tfo.variants.registry import is_client, named

COMMAND = "make rule-mutants"

_HEAD = f"""# Rules of TCP that no rule of traffic judges

Made by `{COMMAND}`. No rule of traffic judges these in every conversation: a case, a client's case,
a program of the fuzzer or a schedule of `explore` asks. Each rule is broken by the mutant beside
it; what asked is in [rule-mutants.json](rule-mutants.json), and the tests ask again.

| rule | mutant | what is wrong with it | asked by | told as |
|---|---|---|---|---|"""

_UNTOLD = """
## Rules that are not judged

A right stack may do the same, or it needs what is not here: no mutant of such a rule could be told
from a right stack.

| rule | level | statement | why |
|---|---|---|---|"""


def rule_mutants_markdown(proofs: Iterable[Mapping[str, Any]], untold: Iterable[TcpRule]) -> str:
    """The page. proofs: as `trust.rule_checks.proof` makes them. untold: rules without one."""
    rows = (
        f"| {each.id} | {each.level} | {each.statement} | {each.unwatched} |" for each in untold
    )
    return "\n".join([_HEAD, *map(_row, proofs), _UNTOLD, *rows, ""])


def _row(proof: Mapping[str, Any]) -> str:
    name = proof["mutant"]
    mutant = client_named(name) if is_client(name) else named(name)
    if "case" in proof:
        asked = proof["case"]
    elif "schedule" in proof:
        asked = f"`explore`: {' / '.join(proof['schedule'])}"
    else:
        asked = f"program {proof['number']:,}, in {plural(len(proof['program']['steps']), 'step')}"
    return f"| {proof['rule']} | `{name}` | {mutant.description} | {asked} | {proof['told']} |"
