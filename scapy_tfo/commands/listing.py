"""Prints cases, mutants, variants and requirements, without touching the network."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from scapy_tfo import spec, tcp_rules
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.client_variants.rows import all_client_rows
from scapy_tfo.clients.registry import all_cases as all_client_cases
from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.mutants.registry import (
    Mutant,
    all_context_mutants,
    all_mutants,
    all_rule_mutants,
    all_tcp_mutants,
)
from scapy_tfo.pkt.library import scripts_by_requirement
from scapy_tfo.report.tables.rules import names_of_states, rules_markdown
from scapy_tfo.runner.record import TOOL
from scapy_tfo.suite.registry import Case, all_cases, all_conversations, all_stimuli, select
from scapy_tfo.variants.registry import Variant, all_variants
from scapy_tfo.variants.rows import all_rows

_WIDTH = 100


def print_cases(only: Sequence[str], exclude: Sequence[str]) -> None:
    """Print each case and stimulus: its id, what it checks, what it needs."""
    show_cases(select(all_conversations(), only, exclude))


def print_cases_as_json(only: Sequence[str], exclude: Sequence[str]) -> None:
    """Print each case and stimulus as an object: its id, title, requirements, level, needs and
    kind."""
    catalogue = spec.load()
    cases = [
        {
            "id": each.id,
            "title": each.title,
            "requirements": list(each.requirements),
            "level": each.level(catalogue).value,
            "needs": sorted(each.needs),
            "slow": each.slow,
            "intrusive": each.intrusive,
            "exclusive": each.exclusive or each.crowds_main,
            "stimulus": not each.judges,
        }
        for each in select(all_conversations(), only, exclude)
    ]
    print(json.dumps({"schema": 1, "tool": TOOL, "cases": cases}, indent=1))


def show_cases(chosen: Sequence[Case]) -> None:
    """The same for cases of any registry."""
    catalogue = spec.load()
    for each in chosen:
        kind = str(each.level(catalogue)) if each.judges else "stimulus"
        marks = [kind, *each.requirements[1:], *sorted(each.needs)]
        marks += [word for word in ("slow", "intrusive", "exclusive") if getattr(each, word)]
        print(f"{each.id}  ({', '.join(marks)})")
        print(textwrap.fill(each.title, _WIDTH, initial_indent="    ", subsequent_indent="    "))
    stimuli = sum(not each.judges for each in chosen)
    among = f", {stimuli} of them stimuli of rules of TCP ('scapy-tfo spec --rules')"
    print(f"\n{len(chosen)} cases{among if stimuli else ''}")


def print_mutants() -> None:
    """Print each stack that is wrong on purpose: its name, what it breaks, how."""
    show_mutants(all_mutants(), "scapy-tfo test sim:NAME")
    print("\nThese show what is wrong in a context only:\n")
    show_mutants(all_context_mutants(), "scapy-tfo test sim:NAME --context CONTEXT")
    print(
        "\nThese break rules of TCP ('scapy-tfo spec --rules'), which are watched beside cases:\n"
    )
    show_mutants(all_tcp_mutants(), "scapy-tfo test sim:NAME --slow")
    print("\nThese break rules of TCP that the fuzzer's model or single cases hold:\n")
    show_mutants(all_rule_mutants(), "scapy-tfo fuzz sim:NAME")


def show_mutants(mutants: Sequence[Mutant], command: str) -> None:
    """The same for some of them. command: that judges one."""
    for each in mutants:
        shipped = f", shipped as {each.bug}" if each.bug else ""
        context = f", in context {each.context}" if each.context else ""
        besides = f", also {', '.join(each.also)}" if each.also else ""
        shown = f", in {each.shown_by}" if each.shown_by else ""
        print(f"sim:{each.name}  (breaks {each.breaks}{besides}{shipped}{context}{shown})")
        print(
            textwrap.fill(each.description, _WIDTH, initial_indent="    ", subsequent_indent="    ")
        )
    print(f"\n{len(mutants)} mutants; judge one with '{command}'")


def print_variants() -> None:
    """Print each legal stack: its name, the freedoms that it uses, what it does."""
    variants, rows = all_variants(), all_rows()
    _show_variants((*variants, *rows), "")
    print(
        f"\n{len(variants)} variants, and {len(rows)} rows that join many; "
        "judge one with 'scapy-tfo test sim:NAME'\n"
    )
    clients, client_rows = all_client_variants(), all_client_rows()
    _show_variants((*clients, *client_rows), "a client; ")
    print(
        f"\n{len(clients)} variants of clients, and {len(client_rows)} rows that join many; "
        "judge one with 'scapy-tfo client sim:NAME'"
    )


def _show_variants(variants: Sequence[Variant], kind: str) -> None:
    """kind: what stands in front of the freedoms."""
    for each in variants:
        print(f"sim:{each.name}  ({kind}uses {', '.join(each.uses)})")
        print(
            textwrap.fill(each.description, _WIDTH, initial_indent="    ", subsequent_indent="    ")
        )


def print_requirements(only: Sequence[str], exclude: Sequence[str]) -> None:
    """Print each requirement with its cases and scripts, and name those that nothing checks yet.

    Entries may be all that chooses cases: ids of cases stand for their requirements, those of
    rules and stimuli print the rules.
    """
    named = [each for entry in only for each in _requirements_of(entry)]
    of_rules, others = _apart(named)
    if of_rules:
        print_rules(of_rules, _apart(exclude)[0])
        if not others:
            return
        print()
    _print_requirements(others, exclude)


def _requirements_of(entry: str) -> Sequence[str]:
    """Of the cases that an id or a pattern of ids chooses; the entry itself where it is none."""
    if "." not in entry:
        return (entry,)
    wanted = entry.casefold()
    every = (*all_conversations(), *all_client_cases())
    chosen = (each for each in every if fnmatchcase(each.id.casefold(), wanted))
    found = dict.fromkeys(name for each in chosen for name in each.requirements)
    return tuple(found) or (entry,)


def _apart(entries: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that name rules of TCP, and the others."""
    of_rules = [each for each in entries if each.upper().partition("-")[0] == "TCP"]
    return of_rules, [each for each in entries if each not in of_rules]


def _print_requirements(only: Sequence[str], exclude: Sequence[str]) -> None:
    catalogue = spec.load()
    scripts = scripts_by_requirement()
    checked: dict[str, list[Case]] = {each: [] for each in catalogue}
    for case in (*all_cases(), *all_client_cases()):
        for requirement in case.requirements:
            checked[requirement].append(case)
    chosen = chosen_ids(list(catalogue), only, exclude)
    for identity in chosen:
        each = catalogue[identity]
        print(f"{identity}  {each.level}  {'; '.join(each.source)}")
        text = textwrap.fill(
            each.statement, _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
        print(text)
        for case in checked[identity]:
            print(f"      - {case.id}")
        for script in scripts.get(identity, ()):
            print(f"      - {script}")
    bare = [each for each in chosen if not checked[each] and not scripts.get(each)]
    done = len(chosen) - len(bare)
    print(f"\n{len(chosen)} requirements, {done} of them checked by a case or a script")
    if bare:
        line = f"Not checked by any case or script yet: {', '.join(bare)}"
        print(textwrap.fill(line, _WIDTH, subsequent_indent="    "))


def print_rules(only: Sequence[str], exclude: Sequence[str]) -> None:
    """Print each rule of plain TCP: what it demands, of whom and when, and what it leaves open."""
    rules = tcp_rules.load()
    # Reports add the name of the oracle: TCP-ACK-1.ack-of-a-gap.
    only, exclude = ([each.partition(".")[0] for each in some] for some in (only, exclude))
    chosen = chosen_ids(
        list(rules), only, exclude, kind="rule", example="TCP-RST-2, a topic such as RST"
    )
    breaking: dict[str, list[str]] = {}
    for mutant in (*all_tcp_mutants(), *all_rule_mutants()):
        breaking.setdefault(mutant.breaks, []).append(mutant.name)
    stimuli: dict[str, list[str]] = {}
    for case in all_stimuli():
        for name in case.requirements:
            stimuli.setdefault(name, []).append(case.id)
    for identity in chosen:
        each = rules[identity]
        print(f"{identity}  {each.level}  {each.source}")
        _print_indented(each.statement, 4)
        form = str(each.form)
        if each.seconds is not None:
            form += f" {each.seconds:g} s"
        oracle = f"; the oracle's {', '.join(each.rule)}" if each.rule else ""
        problem = f'; RFC 2525: "{each.problem}"' if each.problem else ""
        who = "any end" if each.judges == "any" else each.judges
        _print_indented(
            f"- {form}; {who} in {names_of_states(each)}; by a {each.witness}{oracle}{problem}", 6
        )
        _print_indented(f"- allowed: {each.allows}", 6)
        for name in stimuli.get(identity, ()):
            print(f"      - brought about by {name}")
        for name in itertools.chain(*(breaking.get(one, ()) for one in (*each.rule, identity))):
            print(f"      - broken on purpose by sim:{name}")
    judged = sum(bool(rules[identity].rule) for identity in chosen)
    print(f"\n{len(chosen)} of {len(rules)} rules; the oracle judges {judged} of them today")


def write_rules(file: Path) -> None:
    """Write every rule to a file, as Markdown."""
    if not file.parent.is_dir():
        raise SetupError(f"cannot write {file}: there is no directory {file.parent}")
    file.write_text(rules_markdown(tcp_rules.load()), encoding="utf-8")


def _print_indented(text: str, spaces: int) -> None:
    """Text that starts with "- " goes on behind it."""
    further = spaces + 2 if text.startswith("- ") else spaces
    print(textwrap.fill(text, _WIDTH, initial_indent=" " * spaces, subsequent_indent=" " * further))


def chosen_ids(
    ids: Sequence[str],
    only: Sequence[str],
    exclude: Sequence[str],
    *,
    kind: str = "requirement",
    example: str = "ACC-2, a group such as OPT",
) -> list[str]:
    """The ids that match. kind, example: what an error says they are, and an id and a group of
    such. Raises SetupError for an entry that matches none."""

    def matches(identity: str, entry: str) -> bool:
        wanted = entry.upper()
        return fnmatchcase(identity, wanted) or wanted in identity.split("-")[:-1]

    option = " --rules" if kind == "rule" else ""
    for entry in (*only, *exclude):
        if not any(matches(identity, entry) for identity in ids):
            raise SetupError(
                f"'{entry}' matches no {kind}: give an id such as {example}, or a pattern of an id "
                f"('scapy-tfo spec{option}' lists them)" + did_you_mean(entry, ids)
            )
    return [
        identity
        for identity in ids
        if (not only or any(matches(identity, entry) for entry in only))
        and not any(matches(identity, entry) for entry in exclude)
    ]
