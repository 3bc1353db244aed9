"""Groups the failures of a run by their cause, so that one fault does not look like fifty.

A group has a lead: the first failed case of the requirement that the fault is about. That is the
requirement of which the largest share of cases failed, since the requirement that is broken fails
whole while others fail here and there; for a symptom that a requirement is about, it comes first.
The other failures of the group are its witnesses. Those of other requirements were about something
else, which could not be judged: their verdict becomes INCONCLUSIVE, unless that would take a
failure from the run, or the symptom is a narrow one. It is narrow where most cases that are about
it, and most that could have found it, do not show it: a target that takes text in most ways, and
loses it in a few, has been caught by each case that found one of these ways, and stays caught.

What is lost after a refusal is a symptom of its own where most of what is lost is lost there.

One fault may break several requirements, and which of them its author had in mind is not on the
wire: a lead tells which ones the group concerns, its own first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from scapy_tfo.suite.outcome import Symptom
from scapy_tfo.suite.result import Result, Verdict, largest_first

_MOST_CONCERNED = 3
"""Requirements that a group is said to concern where its lead is filed under one of them."""

_ABOUT: dict[str, tuple[str, ...]] = {
    Symptom.TAKES_DATA: ("ACC-3", "SRV-2", "ACC-4"),
    Symptom.REFUSES_COOKIE: ("SRV-1", "ACC-2", "LIM-3", "SRV-3", "SRV-7"),
    Symptom.GRANTS_NOTHING: ("SRV-9",),
    Symptom.ACKS_WRONGLY: ("ACC-10",),
    Symptom.DROPS_SYN: ("ACC-3", "LIM-1"),
    Symptom.SPOILS_DATA: ("ACC-9", "AFT-1", "ACC-2"),
    Symptom.SPOILS_REFUSED: ("ACC-3", "ACC-4"),
    Symptom.NEVER_CLOSES: ("AFT-2",),
}
"""Symptom -> the requirements that are about it, the most telling first."""


def explained(results: Sequence[Result]) -> tuple[Result, ...]:
    """The results, in their order, each failure with its cause.

    A lead has none. A failure that fails the run stays one unless its lead does so, too.
    """
    results = _generalized(results)
    done = list(results)
    for family in {each.family for each in results}:
        mine = [at for at, each in enumerate(results) if each.family == family]
        judged = Counter(
            _requirement(results[at])
            for at in mine
            if results[at].verdict in (Verdict.PASS, Verdict.FAIL)
        )
        rest = [at for at in mine if results[at].verdict is Verdict.FAIL]
        while rest:
            lead, group = _next_group([(at, results[at]) for at in rest], judged)
            concerns = _concerned(results[lead], [results[at] for at in group], judged)
            for at in group:
                if at != lead:
                    narrow = _is_narrow(results[at].symptom, [results[each] for each in mine])
                    done[at] = _witness(results[at], results[lead], narrow=narrow)
            done[lead] = replace(results[lead], concerns=concerns)
            rest = [at for at in rest if at not in group]
    return tuple(done)


def _generalized(results: Sequence[Result]) -> Sequence[Result]:
    """Where most of the data that is spoilt over a family was not refused before, it is one fault,
    and the refusals have no part in it."""
    counts = Counter((each.family, each.symptom) for each in results)
    special, general = Symptom.SPOILS_REFUSED, Symptom.SPOILS_DATA
    return [
        replace(each, symptom=general)
        if each.symptom == special and counts[each.family, special] <= counts[each.family, general]
        else each
        for each in results
    ]


def leads(results: Sequence[Result]) -> list[Result]:
    """Of explained results those that explain the others, the one of the largest group first."""
    found = [each for each in results if each.verdict is Verdict.FAIL and not each.cause]
    return largest_first(found, results)


def _next_group(
    failures: Sequence[tuple[int, Result]], judged: Counter[str]
) -> tuple[int, set[int]]:
    """The lead of the largest fault among failures, and its group, by their numbers."""
    failed = Counter(_requirement(each) for _, each in failures)
    symptoms = Counter(each.symptom for _, each in failures if each.symptom)
    about: tuple[str, ...] = ()
    if symptoms and symptoms.most_common(1)[0][1] * 2 > len(failures):
        about = _ABOUT.get(symptoms.most_common(1)[0][0], ())

    def plainness(requirement: str) -> tuple[float, int]:
        telling = len(about) - about.index(requirement) if requirement in about else 0
        share = failed[requirement] / judged[requirement]
        return share + (1 + telling / 100 if telling else 0), failed[requirement]

    requirement = max(failed, key=plainness)
    own = [(at, each) for at, each in failures if _requirement(each) == requirement]
    shown = {each.symptom for _, each in own} - {""}
    group = {
        at for at, each in failures if _requirement(each) == requirement or each.symptom in shown
    }
    # The first in the order of the cases, so that each run names the same one.
    return own[0][0], group


def _concerned(lead: Result, group: Sequence[Result], judged: Counter[str]) -> tuple[str, ...]:
    """The requirements that a fault breaks: the lead's own, those that its symptom is about, and
    those of which the largest share of cases failed."""
    failed = Counter(_requirement(each) for each in group)
    about = [each for each in _ABOUT.get(lead.symptom, ()) if failed[each]]
    shares = sorted(failed, key=lambda each: (-failed[each] / judged[each], -failed[each]))
    others = [each for each in dict.fromkeys([*about, *shares]) if each not in lead.requirements]
    return (*lead.requirements, *others[: _MOST_CONCERNED - 1])


def _is_narrow(symptom: str, results: Sequence[Result]) -> bool:
    """Whether most cases that are about a symptom passed at this target, or failed otherwise, and
    most cases that could have found it did not."""
    judged = [each for each in results if each.verdict in (Verdict.PASS, Verdict.FAIL)]
    telling = [each for each in judged if _requirement(each) in _ABOUT.get(symptom, ())]
    if telling and 2 * sum(each.symptom == symptom for each in telling) >= len(telling):
        return False
    shown = sum(each.symptom == symptom for each in judged)
    return shown < sum(each.symptom != symptom and symptom in each.refuted for each in judged)


def _witness(result: Result, lead: Result, *, narrow: bool) -> Result:
    """A failure of the group that is not its lead. narrow: the symptom is."""
    elsewhere = _requirement(result) != _requirement(lead)
    if not elsewhere or narrow or (result.level.fails_run and not lead.level.fails_run):
        return replace(result, cause=lead.case)
    reason = f"not judged: the target {result.symptom}, see {lead.case}"
    return replace(result, verdict=Verdict.INCONCLUSIVE, reason=reason, cause=lead.case)


def _requirement(result: Result) -> str:
    return result.requirements[0]
