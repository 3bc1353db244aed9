"""Turns how a case ended, and what the run has learnt of the path, into a verdict.

Breaches of rules of TCP, seen in all conversations, become results of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scapy_tfo.runner.judging.excuses import ENOUGH, LONGEST
from scapy_tfo.runner.judging.job import Job
from scapy_tfo.silence.likelihood import bound_of, chance_of_loss, in_words
from scapy_tfo.suite.control import PathRecord
from scapy_tfo.suite.outcome import (
    Absent,
    Broke,
    Cookieless,
    Failed,
    Inconclusive,
    Missing,
    Refused,
    Skipped,
    Symptom,
    Unsupported,
    WasReset,
)
from scapy_tfo.suite.result import Breach, Result, Run, Verdict
from scapy_tfo.tcp_rules import TcpRule

TRIES_AT_LEAST = 3
"""Of a case that ends in silence, before it is judged: the third in a quiet setting."""

TRIES = 9
"""At most. One handshake that is silent so often beside 47 of 48 answered is no loss."""

_CITED = 5
"""Packets that a result cites."""
_SHARE = 0.5
"""Of the cases that show a breach: as many must have failed for it to be theirs."""

_SHOWN_BY_CASES = {"fin-missing": Symptom.NEVER_CLOSES}
"""Rule -> the symptom of cases that fail for the same fault, whatever else shows the breach."""


class Verdicts:
    """The verdicts on the jobs of a run.

    loses_nothing: the path is known to, so that one silence is enough.
    """

    def __init__(self, path: PathRecord, *, loses_nothing: bool) -> None:
        self._path = path
        self._loses_nothing = loses_nothing
        self._jobs = 0

    def plan(self, jobs: Sequence[Job]) -> None:
        """What is to be judged: the more there is, the less may be left to chance in each."""
        self._jobs = len(jobs)

    def wants(self, job: Job) -> bool:
        """Whether a job is worth another attempt."""
        if not job.attempts:
            return True
        if self._path.gone or not self.is_silent(job):
            return False
        if self._loses_nothing:
            # Its silence was our own doing, if others took the little room that there is.
            return job.family in self._path.room and job.attempts == 1 and job.heard_nothing
        if job.target_was_full and job.exclusive:
            # It had the target to itself, as it would have again.
            return False
        if job.attempts < TRIES_AT_LEAST:
            return True
        if job.attempts >= TRIES or not self.is_at_stake(job):
            return False
        left = TRIES - job.attempts
        return chance_of_loss(job.silences, more=left) <= self._bound

    def is_silent(self, job: Job) -> bool:
        """Whether a job rests on something that did not come, and that loss may have kept away."""
        return job.is_open or (isinstance(job.ending, Absent) and self._doubts(job))

    def is_at_stake(self, job: Job) -> bool:
        """Whether the verdict on a silent job hangs on the chance that loss explains it."""
        if not job.silences or not self.is_silent(job) or not self.loss_explains(job):
            return False
        if isinstance(job.ending, Absent):
            return True
        return job.level.can_fail and self._excuse(job) == ""

    def will_settle(self, jobs: Sequence[Job]) -> bool:
        """Whether no verdict on these jobs will hang on the chance of loss, once each has had its
        `TRIES_AT_LEAST` and those to come end like the last one: more controls now are sooner had
        than one more try of each."""
        return not any(self._needs_more(each) for each in jobs if self.is_at_stake(each))

    def _needs_more(self, job: Job) -> bool:
        left = max(TRIES_AT_LEAST - job.attempts, 0)
        return chance_of_loss(job.silences, more=left) > self._bound

    def loss_explains(self, job: Job) -> bool:
        """Whether loss alone is no far-fetched explanation of a silence."""
        if self._loses_nothing:
            return not self._path.is_clean
        return chance_of_loss(job.silences) > self._bound

    @property
    def _bound(self) -> float:
        return bound_of(self._jobs)

    def result(self, job: Job) -> Result:
        """The verdict on a job, final once the path is known."""
        verdict, reason = self._verdict(job)
        ending = job.ending
        rests = verdict in (Verdict.FAIL, Verdict.UNSUPPORTED) and job.is_silent
        return Result(
            case=job.case.id,
            title=job.case.title,
            family=job.family,
            requirements=job.case.requirements,
            level=job.level,
            verdict=verdict,
            reason=reason,
            expected=ending.expected if ending else "",
            actual=ending.actual if ending else "",
            flow=ending.flow if ending else "",
            packets=ending.packets if ending else (),
            seconds=round(job.seconds, 4),
            attempts=job.attempts,
            observed=job.observed,
            silent=rests and (self._loses_nothing or self.loss_explains(job)),
            symptom=ending.symptom if ending and verdict is Verdict.FAIL else "",
            refuted=frozenset(job.refuted),
            broke=isinstance(ending, Broke),
        )

    def _verdict_on_a_corpse(self, job: Job) -> tuple[Verdict, str]:
        """The target is gone: where one case had it to itself on a clean path, that one did it."""
        alone = self._jobs == 1 and not (
            self._path.recovered or self._path.squeezed or self._path.reset
        )
        if alone and job.level.can_fail:
            return Verdict.FAIL, "the target stopped answering when this case had been run"
        if isinstance(job.ending, Missing):
            return Verdict.INCONCLUSIVE, f"{job.ending.reason}; the target stopped answering"
        return Verdict.PASS, ""

    def _doubts(self, job: Job) -> bool:
        """Whether the path could have kept away what a case found to be absent."""
        never = isinstance(job.ending, Cookieless) and job.family not in self._path.grants
        return self._path.may_lose and not never

    def _excuse(self, job: Job) -> str:
        """What else than loss explains that something did not come, "" for nothing."""
        if job.found_no_room and job.family not in self._path.off:
            return "the queue of pending fast opens was full, too small for what the cases open"
        room = self._path.room.get(job.family)
        if room is not None and job.opened > room:
            return f"the target holds {room} at a time of the {job.opened} connections of the case"
        if job.target_was_full and (job.opened >= ENOUGH or job.family not in self._path.roomy):
            return (
                "while the case held its connections, the target answered no control handshake:"
                " it has too little room for what the case opens"
            )
        if isinstance(job.ending, WasReset) and self._path.reset:
            return "the target is short of room"
        return ""

    def _verdict(self, job: Job) -> tuple[Verdict, str]:
        ending = job.ending
        if self._path.gone and (ending is None or isinstance(ending, Missing)):
            return self._verdict_on_a_corpse(job)
        if ending is None:
            return Verdict.PASS, ""
        if isinstance(ending, Skipped):
            return Verdict.SKIPPED, ending.reason
        if isinstance(ending, Absent) and self._doubts(job) and self.loss_explains(job):
            return Verdict.INCONCLUSIVE, f"{ending.reason}; the path loses packets"
        if isinstance(ending, Unsupported):
            return Verdict.UNSUPPORTED, ending.reason
        if isinstance(ending, Inconclusive):
            return Verdict.INCONCLUSIVE, ending.reason
        if isinstance(ending, Refused) and job.family in self._path.one_time:
            once = "a cookie is good once here, and the case uses one again"
            return Verdict.UNSUPPORTED, f"{ending.reason}: {once}"
        assert isinstance(ending, Failed | Missing)
        if isinstance(ending, Missing):
            return self._verdict_on_silence(job, ending)
        if not job.level.can_fail:
            return Verdict.UNSUPPORTED, f"not done, which is allowed: {ending.reason}"
        return Verdict.FAIL, ending.reason

    def _verdict_on_silence(self, job: Job, ending: Missing) -> tuple[Verdict, str]:
        excuse = self._excuse(job)
        if excuse:
            return Verdict.INCONCLUSIVE, f"{ending.reason}; {excuse}"
        if job.found_no_room and job.level.can_fail:
            # Neither loss nor a full queue explains refusals for so long.
            late = f"fast open was still off {LONGEST} s after all that was pending had ended"
            return Verdict.FAIL, f"{ending.reason}; {late}"
        explained = self.loss_explains(job)
        if explained and (job.level.can_fail or not self._path.is_clean):
            return Verdict.INCONCLUSIVE, f"{ending.reason}; {self._why_loss(job)}"
        if not job.level.can_fail:
            return Verdict.UNSUPPORTED, f"not done, which is allowed: {ending.reason}"
        if self._loses_nothing:
            return Verdict.FAIL, ending.reason
        return Verdict.FAIL, f"{ending.reason}; {in_words(job.silences)}"

    def _why_loss(self, job: Job) -> str:
        """Why loss is not to be ruled out."""
        if self._path.may_lose:
            return "the path loses packets"
        short = "the target is short of room, and " if self._path.reset else ""
        return f"{short}too little was asked to rule out loss ({in_words(job.silences)})"


def with_breaches(run: Run, rules: Mapping[str, TcpRule]) -> Run:
    """The run, with a failure for each rule of TCP that its conversations saw broken. What a rule
    only allows is unsupported where it was not done.

    A breach that was mostly seen in cases that failed is the same fault: its result names the
    first of them as its cause. So the causes of those have to be known (`causes.explained`).
    """
    known = {name: rule for rule in reversed(list(rules.values())) for name in rule.rule}
    groups: dict[tuple[str, int], list[Breach]] = {}
    for each in run.breaches:
        groups.setdefault((each.rule, each.family), []).append(each)
    failed = {
        f"{each.case} [ipv{each.family}]": each
        for each in run.results
        if each.verdict is Verdict.FAIL or each.cause
    }
    found = [
        _result(known[name], family, breaches, failed)
        for (name, family), breaches in sorted(groups.items())
    ]
    return replace(run, results=(*run.results, *found))


def case_ids(rule: TcpRule) -> list[str]:
    """What stands for a case in the results of a rule, by the names of what judges it."""
    return [f"{rule.id}.{name}" for name in rule.rule]


def _result(
    rule: TcpRule, family: int, breaches: Sequence[Breach], failed: Mapping[str, Result]
) -> Result:
    first = breaches[0]
    owners = list(dict.fromkeys(each.owner for each in breaches))
    theirs = [failed[each] for each in owners if each in failed]
    cause = ""
    if len(theirs) < _SHARE * len(owners):
        symptom = _SHOWN_BY_CASES.get(first.rule)
        theirs = [each for each in failed.values() if symptom and each.symptom == symptom]
        theirs = [each for each in theirs if each.family == family]
    if theirs:
        cause = theirs[0].cause or theirs[0].case
    statement = rule.statement.rstrip(".")
    binds = rule.level.can_fail
    return Result(
        case=f"{rule.id}.{first.rule}",
        title=rule.statement,
        family=family,
        requirements=(rule.id,),
        level=rule.level,
        verdict=Verdict.FAIL if binds else Verdict.UNSUPPORTED,
        reason=f"{statement} ({rule.source}): {first.actual}"
        if binds
        else f"{rule.source} allows this and does not demand it, and the target does not do it:"
        f" {statement}",
        expected=first.expected if binds else "",
        actual=first.actual if binds else "",
        flow=first.flow,
        packets=tuple(each.packet for each in breaches[:_CITED] if each.packet),
        observed={"seen in": _told(owners)},
        cause=cause,
    )


def _told(owners: Sequence[str]) -> str:
    shown = ", ".join(owners[:3])
    return shown if len(owners) <= 3 else f"{shown} and {len(owners) - 3} more"
