"""Checks that fuzzing finds each mutant that shows on the wire, without knowing which one it is.

`python scripts/hunt.py [NAME ...] [--limit SECONDS] [--jobs N] [--write FILE]`.
Programs of the seeds from 0 on are run against each mutant until one shows a violation every time;
that program is reduced. `--write` writes the file and, next to it, a table; with names, only their
entries in the file are made anew. A mutant shows on the wire if it is caught by a case that needs
only an echo on a few ports from its target; the file lists the names of the other mutants, and of
those that are nothing but a setting which a legal stack has as well: a campaign does not know which
stacks may have it. Exits with 1 if fewer than 90 in 100 are found.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.campaign.triage import CONFIRMATIONS, Rule, breaks
from scapy_tfo.fuzz.findings.naming import named as clause_named
from scapy_tfo.fuzz.generation.grammar import VERSION, sent_for
from scapy_tfo.mutants.registry import Mutant, all_mutants, named
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Program, to_json
from scapy_tfo.program.reduce import reduced
from scapy_tfo.reference.settings import Settings
from scapy_tfo.suite.registry import all_cases
from scapy_tfo.trust.matrix import hunt
from scapy_tfo.variants.registry import all_variants

NEEDS = frozenset(("answer", "echo", "bulk", "two_addresses", "plain_port", "second_port"))
"""Of a case that sees no more of its target than the wire shows."""
LIMIT = 60.0
SHORT = 5
"""Steps of a program that people read at a glance."""

Entry = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant; default: all")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of CPU for each")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="JSON; a table goes next to it")
    chosen = parser.parse_args()
    held: dict[str, Any] = {}
    if chosen.write is not None and chosen.write.exists():
        held = json.loads(chosen.write.read_text(encoding="utf-8"))
    hidden = _hidden(held, chosen.jobs) if chosen.write is not None or not chosen.names else []
    free = sorted(each.name for each in all_mutants() if uses_a_freedom(each))
    visible = [
        each for each in all_mutants() if not each.equivalent and each.name not in {*hidden, *free}
    ]
    entries: dict[str, Entry] = {}
    if chosen.names:
        entries = dict(held.get("mutants", {}))
    wanted = [named(each) for each in chosen.names] or visible
    with ProcessPoolExecutor(chosen.jobs) as pool:
        names = [each.name for each in wanted]
        for mutant, entry in zip(
            wanted, pool.map(partial(hunted, chosen.limit), names), strict=True
        ):
            entries[mutant.name] = {"clause": mutant.breaks, **entry}
            print(_line(mutant, entries[mutant.name]), flush=True)
    entries = {each.name: entries[each.name] for each in visible if each.name in entries}
    print(*summary(entries.values()), sep="\n")
    if chosen.write is not None:
        made = {
            "grammar": VERSION,
            "limit": chosen.limit,
            "hidden": hidden,
            "free": free,
            "mutants": entries,
        }
        chosen.write.write_text(_text(made), encoding="utf-8")
        chosen.write.with_suffix(".md").write_text(markdown(made), encoding="utf-8")
    missed = sum("rule" not in each for each in entries.values())
    return int(missed > 0.1 * len(entries))


def hunted(limit: float, name: str) -> Entry:
    """What fuzzing one mutant for `limit` seconds of CPU shows: in `witness` the reduced program,
    with the violation that it shows; less where nothing was found."""
    began = time.process_time()
    bench = SimulatedBench(f"sim:{name}")
    number = 0
    while time.process_time() - began < limit:
        program = sent_for(number)
        number += 1
        found = _first(bench, program)
        if found is None:
            continue
        seconds = time.process_time() - began
        smallest = reduced(program, partial(_show, bench, found))
        violation = breaks(_verdict(bench, smallest), found)
        assert violation is not None
        violation = clause_named(smallest, violation, partial(_asked, bench))
        return {
            "seconds": round(seconds, 2),
            "programs": number,
            "rule": violation.rule,
            "reply": violation.reply,
            "requirement": violation.requirement,
            **({"cookie": violation.cookie} if violation.cookie else {}),
            "steps": len(smallest.steps),
            "witness": to_json(smallest),
        }
    return {"seconds": round(time.process_time() - began, 2), "programs": number}


def _first(bench: SimulatedBench, program: Program) -> Rule | None:
    """The first rule that a program breaks, if it does so each time."""
    violations = _verdict(bench, program).violations
    if not violations:
        return None
    rule = violations[0].rule, violations[0].reply
    again = (breaks(_verdict(bench, program), rule) for _ in range(CONFIRMATIONS - 1))
    return rule if all(again) else None


def _asked(bench: SimulatedBench, programs: Sequence[Program]) -> list[Sequence[Violation]]:
    return [_verdict(bench, each).violations for each in programs]


def _show(bench: SimulatedBench, rule: Rule, programs: Sequence[Program]) -> list[bool]:
    return [breaks(_verdict(bench, each), rule) is not None for each in programs]


def _verdict(bench: SimulatedBench, program: Program) -> Any:
    ((_, verdict),) = bench.run([(0, program)])
    return verdict


def uses_a_freedom(mutant: Mutant) -> bool:
    """Whether it overrides nothing, and a legal stack has the same settings."""
    own = any(name == "__init__" or not name.startswith("__") for name in vars(mutant.stack))
    legal = any(each.settings == mutant.settings for each in all_variants())
    return legal and not own and mutant.settings != Settings()


def _hidden(held: Mapping[str, Any], jobs: int) -> list[str]:
    """Names of the mutants that no case catches which sees the wire alone; those that the file
    knows already are not tried again."""
    old = set(held.get("hidden", ()))
    known = old | set(held.get("mutants", ()))
    names = {each.name for each in all_mutants() if not each.equivalent}
    unknown = [named(each) for each in sorted(names - known)]
    if unknown:
        cases = [each for each in all_cases() if each.needs <= NEEDS]
        old |= {each.mutant for each in hunt(cases, unknown, processes=jobs) if not each.cases}
    return sorted(old & names)


def summary(entries: Iterable[Entry]) -> list[str]:
    """Figures in sentences."""
    every = list(entries)
    found = [each for each in every if "rule" in each]
    short = sum(each["steps"] <= SHORT for each in found)
    same = sum(each["requirement"] == each["clause"] for each in found)
    times = sorted(each["seconds"] for each in found)
    lines = [
        f"- found: {_share(len(found), len(every))}",
        f"- reduced to at most {SHORT} steps: {_share(short, len(found))}",
        f"- the requirement named is the mutant's own: {_share(same, len(found))}",
    ]
    if times:
        half, most = times[len(times) // 2], times[-1]
        lines.append(f"- CPU time until found: {half:.1f} s median, {most:.1f} s at most")
    return lines


def _share(some: int, of: int) -> str:
    return f"{some} of {of} ({100 * some / max(of, 1):.1f} %)"


def markdown(made: Mapping[str, Any]) -> str:
    """The table for people."""
    entries = made["mutants"]
    lines = [
        "# Mutants that fuzzing finds",
        "",
        "Made by `make hunt`. Each server mutant that shows on the wire is fuzzed in simulation",
        "with the programs of the seeds from 0 on, for",
        f"at most {made['limit']:.0f} s of CPU. The fuzzer does not know which mutant it is. Each",
        "violation found is confirmed, and its program reduced. The programs are in",
        "[fuzz-mutants.json](fuzz-mutants.json), and the tests run them again.",
        "",
        *summary(entries.values()),
        "",
        f"{len(made['hidden'])} mutants are left out, because no case that needs only an echo on",
        "three ports from its target catches them, and "
        f"{len(made['free'])}, because they are a setting that legal",
        f"stacks have as well: {', '.join(made['free'])}.",
        "",
        "A requirement in bold is not the mutant's own.",
        "",
        "| mutant | breaks | named | rule | programs | CPU s | steps |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for name, each in entries.items():
        if "rule" in each:
            clause = each["requirement"]
            shown = clause if clause == each["clause"] else f"**{clause}**"
            row = (shown, each["rule"], each["programs"], each["seconds"], each["steps"])
        else:
            row = ("not found", "", each["programs"], each["seconds"], "")
        lines.append("| " + " | ".join(map(str, (name, each["clause"], *row))) + " |")
    return "\n".join(lines) + "\n"


def _text(made: Mapping[str, Any]) -> str:
    """JSON with a line for each mutant."""
    head = {key: each for key, each in made.items() if key != "mutants"}
    rows = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(each, separators=(',', ':'))}"
        for name, each in made["mutants"].items()
    )
    return f'{json.dumps(head)[:-1]}, "mutants": {{\n{rows}\n}}}}\n'


def _line(mutant: Mutant, entry: Entry) -> str:
    if "rule" not in entry:
        return f"{mutant.name}: not found in {entry['programs']} programs ({mutant.breaks})"
    same = "" if entry["requirement"] == mutant.breaks else f", not {mutant.breaks}"
    return (
        f"{mutant.name}: {entry['rule']}, {entry['requirement']}{same}, {entry['steps']} steps "
        f"({entry['programs']} programs, {entry['seconds']} s)"
    )


if __name__ == "__main__":
    sys.exit(main())
