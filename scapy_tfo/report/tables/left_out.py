"""Writes docs/generated/rules-left-out.md: which mutant passes where a rule of TCP is left out."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo.oracle import registry
from scapy_tfo.trust.rule_checks import Telling

COMMAND = "make left-out"

_HEAD = f"""# The rules of TCP, each left out in turn

Made by `{COMMAND}`. Each rule that is watched beside the cases is broken by a mutant, in the
conversation beside it. Left out, the mutant passes there: nothing else tells of it.

| rule | mutant | what is wrong with it | conversation | told without the rule by |
|---|---|---|---|---|"""


def left_out_markdown(tellings: Iterable[Telling]) -> str:
    """The page, in the order of the rules."""
    order = {name: number for number, name in enumerate(registry.every())}
    found = sorted(tellings, key=lambda each: order[each.mutant.breaks])
    alone = sum(not each.left for each in found)
    return "\n".join(
        [
            _HEAD,
            *(_row(each) for each in found),
            "",
            f"{len(found)} mutants; {alone} pass where their rule is left out.",
            "",
        ]
    )


def _row(told: Telling) -> str:
    mutant = told.mutant
    left = ", ".join(told.left) or "nothing"
    return (
        f"| {mutant.breaks} | `{mutant.name}` | {mutant.description} | {mutant.shown_by} | {left} |"
    )
