"""Writes docs/generated/variants.md: the legal stacks and how they fare."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import freedoms
from scapy_tfo.trust.legal import Trial
from scapy_tfo.variants.rows import all_rows

COMMAND = "make variants"

_HEAD = f"""# Legal stacks

Made by `{COMMAND}`. Each of these stacks is legal: it uses a freedom of
[specs/freedoms.toml](../../specs/freedoms.toml) differently than the reference does. It meets all
cases, slow ones included, over IPv4 and IPv6 in simulation, and the fuzzer. None may be blamed;
what still is, is listed at the end. A warning is a failed case of a SHOULD that the stack gives up.
"""


def variants_markdown(trials: Sequence[Trial], programs: int) -> str:
    """The page. programs: with which each was fuzzed."""
    known = freedoms.load()
    rows = {each.name for each in all_rows()}
    single = [each for each in trials if each.name not in rows]
    joined = [each for each in trials if each.name in rows]
    blamed = [each for each in trials if each.blames]
    used = {freedom for each in single for freedom in each.variant.uses}
    lines = [
        _HEAD,
        f"{len(single)} variants use {len(used)} of {len(known)} freedoms, {len(joined)} rows join",
        f"many of them; {programs:,} programs for each; {len(blamed)} of them are blamed.",
        "",
        "| variant | freedom: choice | clause | it does | pass | unsupported | other | warned |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for each in single:
        uses = "; ".join(f"{freedom}: {choice}" for freedom, choice in each.variant.uses.items())
        clauses = "; ".join(dict.fromkeys(known[freedom].clause for freedom in each.variant.uses))
        lines.append(
            _row(f"`{each.name}`", uses, clauses, each.variant.description, *_counts(each))
        )
    lines += [
        "",
        "## Rows",
        "",
        "| row | freedoms | pass | unsupported | other | warned |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for each in joined:
        lines.append(_row(f"`{each.name}`", len(each.variant.uses), *_counts(each)))
    lines += ["", "## Blamed", "", *(_blames(blamed) or ["None."]), ""]
    return "\n".join(lines)


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
