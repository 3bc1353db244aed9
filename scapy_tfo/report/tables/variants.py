"""Writes docs/generated/variants.md: the legal stacks and how they fare."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import freedoms
from scapy_tfo.client_variants.rows import all_client_rows
from scapy_tfo.trust.legal import Trial
from scapy_tfo.variants.rows import all_rows

COMMAND = "make variants"

_HEAD = f"""# Legal stacks

Made by `{COMMAND}`. Each of these stacks is legal: it uses a freedom of
[specs/freedoms.toml](../../specs/freedoms.toml) differently than the reference does. It meets all
cases, slow ones included, over IPv4 and IPv6 in simulation, and servers meet the fuzzer and
[explored schedules](../explore.md). None may be blamed; what still is, is listed at the end. A
warning is a failed case of a SHOULD that the stack gives up.
"""


def variants_markdown(
    trials: Sequence[Trial], programs: int, clients: Sequence[Trial] = (), *, schedules: int = 0
) -> str:
    """The page. programs: with which each server of `trials` was fuzzed. schedules: by which it was
    explored, and as many again with legal deeds."""
    rows = {each.name for each in (*all_rows(), *all_client_rows())}
    every = (*trials, *clients)
    single = [each for each in every if each.name not in rows]
    blamed = [each for each in every if each.blames]
    names = {each.name for each in single}
    own = sum(each.name not in rows for each in clients)
    used = {freedom for each in single for freedom in each.variant.uses}
    lines = [
        _HEAD,
        f"{len(names)} variants, {own} of them clients, some of them both,",
        f"use {len(used)} of {len(freedoms.load())} freedoms, {len(every) - len(single)} rows join",
        f"many of them; {programs:,} programs for each server, {schedules:,} schedules, and",
        f"{schedules:,} with two legal deeds; {len(blamed)} of them are blamed.",
        "",
    ]
    for group, title in ((trials, ""), (clients, "Clients")):
        lines += [f"## {title}", ""] if title and group else []
        lines += _singles([each for each in group if each.name not in rows])
        joined = [each for each in group if each.name in rows]
        if joined:
            lines += ["", "## Rows" + (f" of {title.lower()}" if title else ""), ""]
            lines += _joined(joined)
        lines.append("")
    lines += ["## Blamed", "", *(_blames(blamed) or ["None."]), ""]
    return "\n".join(lines)


def _singles(trials: Sequence[Trial]) -> list[str]:
    """The table of those that use one freedom, or a few that go together."""
    if not trials:
        return []
    known = freedoms.load()
    lines = [
        "| variant | freedom: choice | clause | it does | pass | unsupported | other | warned |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for each in trials:
        uses = "; ".join(f"{freedom}: {choice}" for freedom, choice in each.variant.uses.items())
        clauses = "; ".join(dict.fromkeys(known[freedom].clause for freedom in each.variant.uses))
        lines.append(
            _row(f"`{each.name}`", uses, clauses, each.variant.description, *_counts(each))
        )
    return lines


def _joined(trials: Sequence[Trial]) -> list[str]:
    """The table of rows."""
    return [
        "| row | freedoms | pass | unsupported | other | warned |",
        "|---|---:|---:|---:|---:|---:|",
        *(_row(f"`{each.name}`", len(each.variant.uses), *_counts(each)) for each in trials),
    ]


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _counts(trial: Trial) -> tuple[int, int, int, int]:
    passed = trial.verdicts.get("pass", 0)
    unsupported = trial.verdicts.get("unsupported", 0)
    other = sum(trial.verdicts.values()) - passed - unsupported
    return passed, unsupported, other, len(trial.warnings)


def _blames(blamed: Sequence[Trial]) -> list[str]:
    return [
        f"- `{each.name}`, {blame.by}: {blame.evidence.replace('|', '/')}"
        for each in blamed
        for blame in each.blames
    ]
