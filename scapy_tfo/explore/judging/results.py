"""Turns findings of an exploration into results of a run of cases, with their packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scapy_tfo import tcp_rules
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.campaign.rehearsal import number_of
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.explorer import Found
from scapy_tfo.explore.judging.clauses import clause_of, is_of_packets
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.result import Breach, CapturedPacket, Result, Verdict

_FAMILY = "family"


@dataclass(slots=True)
class Told:
    """What findings add to a run. started: of the run, in seconds since the epoch. packets: with
    the numbers that they have behind those of the run."""

    started: float
    behind: int
    results: list[Result] = field(default_factory=list)
    breaches: list[Breach] = field(default_factory=list)
    packets: list[CapturedPacket] = field(default_factory=list)

    def add(self, found: Found, packets: Sequence[TracedPacket], catalogue: Catalogue) -> None:
        """Tell of one. packets: see `rehearsal.packets_of`."""
        name = f"schedule {found.schedule}"
        family = family_of(found.schedule)
        first = self.behind + len(self.packets) + 1
        self.packets += _captured(packets, first, self.started, f"{name} [ipv{family}]")
        shown = number_of(found.problem, packets) if packets else -1
        numbers = (first + shown,) if 0 <= shown < len(packets) else ()
        problem = found.problem
        if is_of_packets(problem.rule):
            self.breaches.append(
                Breach(
                    rule=problem.rule,
                    owner=name,
                    family=family,
                    flow="",
                    packet=numbers[0] if numbers else 0,
                    expected=problem.expected,
                    actual=problem.actual,
                )
            )
        else:
            self.results.append(_result(found, family, numbers, catalogue))


def family_of(schedule: Schedule) -> int:
    """4 or 6."""
    return int(dict(schedule.context).get(_FAMILY, "4"))


def _captured(
    packets: Sequence[TracedPacket], first: int, started: float, comment: str
) -> Iterator[CapturedPacket]:
    for number, each in enumerate(packets, first):
        yield CapturedPacket(
            number=number,
            when=started + each.when,
            outbound=each.outbound,
            data=each.data,
            comment=comment,
        )


def _result(found: Found, family: int, numbers: tuple[int, ...], catalogue: Catalogue) -> Result:
    problem, clause = found.problem, clause_of(found.problem.rule)
    rules = tcp_rules.load()
    requirement = rules[clause] if clause in rules else catalogue[clause]
    binds = requirement.level.can_fail
    behind = f", behind {len(found.before)} others" if found.before else ""
    statement = requirement.statement.rstrip(".")
    return Result(
        case=f"{clause}.{problem.rule}",
        title=requirement.statement,
        family=family,
        requirements=(clause,),
        level=requirement.level,
        verdict=Verdict.FAIL if binds else Verdict.UNSUPPORTED,
        reason=f"{statement}: {problem.actual}, not {problem.expected}",
        expected=problem.expected if binds else "",
        actual=problem.actual if binds else "",
        packets=numbers,
        observed={"seen in": f"schedule {found.schedule}{behind}"},
    )
