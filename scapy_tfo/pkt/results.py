"""Turns the outcomes of scripts into results of a run, for reports, JSON and JUnit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scapy_tfo import __version__
from scapy_tfo.pkt.language.settings import IPV4
from scapy_tfo.pkt.local.pool import Answer
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Failure, Outcome
from scapy_tfo.spec import Level, Requirement
from scapy_tfo.suite.result import Breach, CapturedPacket, Result, Run, Verdict, moved


@dataclass(frozen=True, slots=True)
class Judged:
    """A script that was run, with what came of it. engine: its name. breaches: of rules of TCP,
    where it was watched. watched: packets that each rule was held against."""

    task: Task
    requirements: tuple[str, ...]
    engine: str
    answer: Answer
    breaches: tuple[Breach, ...] = ()
    watched: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the script, by its directory and file."""
        path = Path(self.task.name)
        return str(Path(path.parent.name) / path.stem) if path.parent.name else path.stem

    @property
    def case(self) -> str:
        """What its result is called."""
        version = self.task.settings.version
        case = self.name if version in (IPV4, "ipv6") else f"{self.name}:{version}"
        return case + (f" ({self.engine})" if self.engine else "")

    @property
    def failures(self) -> list[Failure]:
        """What was not as the script says; of one that could not be run, why."""
        if isinstance(self.answer, Outcome):
            return self.answer.failures
        return [Failure(line=getattr(self.answer, "line", 0), problem=str(self.answer))]

    @property
    def verdict(self) -> Verdict:
        """SKIPPED: it could not be run."""
        if not isinstance(self.answer, Outcome):
            return Verdict.SKIPPED
        return Verdict.FAIL if self.answer.failures else Verdict.PASS


def run_of(
    judged: Sequence[Judged],
    catalogue: Mapping[str, Requirement],
    *,
    target: str,
    started: float,
    seconds: float,
) -> Run:
    """All of them as one run, with their packets."""
    packets: list[CapturedPacket] = []
    results: list[Result] = []
    breaches: list[Breach] = []
    watched: Counter[str] = Counter()
    for each in judged:
        breaches += moved(each.breaches, len(packets))
        watched.update(each.watched)
        results.append(_result(each, catalogue, packets))
    return Run(
        target=target,
        tool=f"scapy-tfo {__version__}",
        started=started,
        seconds=seconds,
        results=tuple(results),
        packets=tuple(packets),
        breaches=tuple(breaches),
        watched=dict(watched),
    )


def _result(
    judged: Judged, catalogue: Mapping[str, Requirement], packets: list[CapturedPacket]
) -> Result:
    answer, failures = judged.answer, judged.failures
    first = failures[0] if failures else None
    case, family = judged.case, judged.task.settings.family
    numbers = []
    if isinstance(answer, Outcome):
        for packet in answer.packets:
            numbers.append(len(packets) + 1)
            packets.append(
                CapturedPacket(
                    number=numbers[-1],
                    when=packet.when / 1e9,
                    outbound=packet.inbound,
                    data=packet.data,
                    comment=f"{'sent by' if packet.inbound else 'for'} {case} [ipv{family}]",
                )
            )
    return Result(
        case=case,
        title=judged.task.name,
        family=family,
        requirements=judged.requirements,
        level=_level(judged.requirements, catalogue),
        verdict=judged.verdict,
        reason="; ".join(_shown(each) for each in failures),
        expected=first.expected if first else "",
        actual=first.actual if first else "",
        flow=answer.flow if isinstance(answer, Outcome) else "",
        packets=tuple(numbers),
        seconds=answer.seconds if isinstance(answer, Outcome) else 0.0,
    )


def _shown(failure: Failure) -> str:
    place = f"line {failure.line}: " if failure.line else ""
    return place + failure.problem


def _level(ids: Sequence[str], catalogue: Mapping[str, Requirement]) -> Level:
    """The strongest of its requirements; what a script says of lesser ones must be so as well."""
    known = [catalogue[each].level for each in ids if each in catalogue]
    order = list(Level)
    strongest = min(known, key=order.index, default=Level.ROBUST)
    return strongest if strongest.fails_run else Level.ROBUST
