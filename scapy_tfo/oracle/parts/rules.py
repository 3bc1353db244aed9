"""The rules of the oracle: what each judges, where it is from, and what a breach of it says.

A rule on what comes is a function of a connection and a segment; it judges, and changes nothing.
What a segment teaches is learnt elsewhere, once it has been judged. A rule on silence only says
what is missing: `obligations.py` knows when something is. Rules stand in tuples, in the order in
which they are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.state import Knowledge
from scapy_tfo.oracle.parts.watch import Watch


class Breach(NamedTuple):
    """A rule was broken. requirement, group: others than the rule's own. reply: another class than
    that of the segment."""

    expected: str
    actual: str = ""
    requirement: str = ""
    group: str | None = None
    reply: str = ""


class Held:
    """A rule was in force, and kept."""


HELD = Held()

Finding = Breach | tuple[Breach, ...] | Held | None
"""None: the rule does not apply here. Several breaches: one segment breaks it more than once."""

Judge = Callable[[Knowledge, Came], Finding]
Missing = Callable[[Knowledge], Breach]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A rule of the oracle.

    number: of its counts in a `Watch`. source: section of the RFC that states it. requirement: id
    in specs/ that a breach of it violates, where nothing tells more. group: of features that do, in
    `attribution.py`. judge: of what comes. missing: of silence. late: what is missing may come some
    time later.
    """

    number: int
    id: str
    source: str
    requirement: str
    group: str
    judge: Judge
    missing: Missing
    late: bool = False


RULES: dict[str, Rule] = {}
"""By id, in the order of their numbers."""


def rule(
    rule_id: str, *, source: str, requirement: str, group: str = ""
) -> Callable[[Judge], Rule]:
    """Registers a function as a rule on what comes. Raises ValueError if the id is taken."""

    def register(judge: Judge) -> Rule:
        return _add(Rule(len(RULES), rule_id, source, requirement, group, judge, _nothing))

    return register


def duty(
    rule_id: str, *, source: str, requirement: str, group: str = "", late: bool = False
) -> Callable[[Missing], Rule]:
    """Registers a function as a rule on silence. Raises ValueError if the id is taken."""

    def register(missing: Missing) -> Rule:
        return _add(
            Rule(len(RULES), rule_id, source, requirement, group, _no_matter, missing, late)
        )

    return register


def elsewhere(rule_id: str, *, source: str, requirement: str) -> Rule:
    """Registers a rule on more than one flow, which is not judged here."""
    return _add(Rule(len(RULES), rule_id, source, requirement, "", _no_matter, _nothing))


def _no_matter(_link: Knowledge, _came: Came) -> Finding:
    return None


def _nothing(_link: Knowledge) -> Breach:
    return Breach("nothing")


def _add(new: Rule) -> Rule:
    if new.id in RULES:
        raise ValueError(f"two rules {new.id}")
    RULES[new.id] = new
    return new


def judge(link: Knowledge, came: Came, rules: tuple[Rule, ...]) -> bool:
    """Judge a segment by rules, in their order; whether it broke one."""
    watch = link.watch
    considered, in_force = watch.considered, watch.in_force
    broken = False
    for each in rules:
        number = each.number
        considered[number] += 1
        found = each.judge(link, came)
        if found is None:
            continue
        in_force[number] += 1
        if found is not HELD:
            broken = True
            watch.broken[number] += 1
            for breach in _breaches(found):
                _blame(link, came, each, breach)
    return broken


def _breaches(found: Finding) -> tuple[Breach, ...]:
    if isinstance(found, Breach):
        return (found,)
    return () if found is None or isinstance(found, Held) else found


def _blame(link: Knowledge, came: Came, rule: Rule, found: Breach) -> None:
    link.blame(
        rule.id,
        found.requirement or rule.requirement,
        found.expected,
        found.actual,
        group=rule.group if found.group is None else found.group,
        reply=found.reply or came.kind,
        packet=came.packet,
    )


class Watched(NamedTuple):
    """How often a rule was judged by, in force, and broken."""

    considered: int
    in_force: int
    broken: int


def watched(watch: Watch) -> Iterator[tuple[str, Watched]]:
    """Each rule's id with its counts."""
    for each in RULES.values():
        at = each.number
        yield each.id, Watched(watch.considered[at], watch.in_force[at], watch.broken[at])
