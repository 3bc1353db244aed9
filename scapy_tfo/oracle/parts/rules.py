"""The rules of the oracle: what each judges, where it is from, and what a breach of it says.

A rule on what comes is a function of a connection and a segment; it judges, and changes nothing.
What a segment teaches is learnt elsewhere, once it has been judged. A rule on silence only says
what is missing: `obligations.py` knows when something is. Rules stand in tuples, in the order in
which they are applied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.state import Connection
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

Judge = Callable[[Connection, Came], Finding]
Missing = Callable[[Connection], Breach]


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

    @property
    def on_silence(self) -> bool:
        return self.missing is not _nothing


RULES: dict[str, Rule] = {}
"""By id, in the order of their numbers."""
_BY_NUMBER: list[Rule] = []


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


def _no_matter(_link: Connection, _came: Came) -> Finding:
    return None


def _nothing(_link: Connection) -> Breach:
    return Breach("nothing")


def _add(new: Rule) -> Rule:
    if new.id in RULES:
        raise ValueError(f"two rules {new.id}")
    RULES[new.id] = new
    _BY_NUMBER.append(new)
    return new


class Table:
    """Rules that are applied together, in their order. number: of its passes in a `Watch`."""

    __slots__ = ("number", "pairs", "rules")

    def __init__(self, *rules: Rule) -> None:
        self.number = len(TABLES)
        self.rules = rules
        self.pairs = tuple((each.judge, each.number) for each in rules)
        TABLES.append(self)


TABLES: list[Table] = []
"""By their numbers."""


def new_watch() -> Watch:
    """Counts of nothing yet."""
    return Watch(len(RULES), len(TABLES))


def judge(link: Connection, came: Came, table: Table) -> bool:
    """Judge a segment by rules; whether it broke one."""
    watch, held = link.watch, HELD
    watch.passes[table.number] += 1
    broken = False
    for function, number in table.pairs:
        found = function(link, came)
        if found is held:
            continue
        if found is None:
            watch.idle[number] += 1
            continue
        broken = True
        watch.broken[number] += 1
        for breach in _breaches(found):
            _blame(link, came, _BY_NUMBER[number], breach)
    return broken


def _breaches(found: Finding) -> tuple[Breach, ...]:
    if isinstance(found, Breach):
        return (found,)
    return () if found is None or isinstance(found, Held) else found


def _blame(link: Connection, came: Came, rule: Rule, found: Breach) -> None:
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
    """How often a rule was considered; applied, so that it could be broken; and was broken. A rule
    that was never in force has shown nothing."""

    considered: int
    in_force: int
    broken: int


def watched(watch: Watch) -> dict[str, Watched]:
    """The counts of each rule, by its id."""
    considered = [0] * len(RULES)
    for table in TABLES:
        for each in table.rules:
            considered[each.number] += watch.passes[table.number]
    found = {}
    for each in RULES.values():
        at = each.number
        in_force = watch.due[at] if each.on_silence else considered[at] - watch.idle[at]
        found[each.id] = Watched(considered[at], in_force, watch.broken[at])
    return found
