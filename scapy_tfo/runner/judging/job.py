"""A case at one address, through all its attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scapy_tfo.silence.likelihood import Exposure, Silence, Tally
from scapy_tfo.spec import Catalogue, Level
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import (
    Absent,
    Ending,
    Missing,
    Refused,
    Ungranted,
    WasReset,
    refuting,
)
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.target import Target


@dataclass(slots=True)
class Job:
    """One case at one address, through all its attempts.

    silences: the attempts that ended on something that did not come. queue_was_full: of pending
    fast opens, at the end of the last attempt. target_was_full: then not even a plain handshake was
    answered, while the case held all that it had opened. opened: connections of the case, when
    something did not come. refuted: symptoms that its assertions met and did not find.
    exclusive: it runs alone at this target.
    """

    case: Case
    family: int
    catalogue: Catalogue
    seconds: float = 0.0
    attempts: int = 0
    observed: dict[str, str] = field(default_factory=dict)
    ending: Ending | None = None
    queue_was_full: bool = False
    target_was_full: bool = False
    opened: int = 0
    silences: list[Silence] = field(default_factory=list)
    refuted: set[str] = field(default_factory=set)
    exclusive: bool = False

    async def run(self, peer: Peer) -> None:
        """One attempt. Raises what ends it."""
        with refuting(self.refuted):
            await self.case.run(peer)

    @property
    def level(self) -> Level:
        """Of the assertion that failed, or the strongest of the case's requirements."""
        return self.case.level_of(self.ending, self.catalogue)

    @property
    def is_open(self) -> bool:
        """Worth another attempt: never run, or something did not come."""
        return not self.attempts or isinstance(self.ending, Missing)

    @property
    def is_silent(self) -> bool:
        """It rests on something that did not come."""
        return self.is_open or isinstance(self.ending, Absent)

    @property
    def heard_nothing(self) -> bool:
        """It ended on something that did not come, a full queue being no explanation."""
        return isinstance(self.ending, Missing) and not self.was_refused

    @property
    def was_refused(self) -> bool:
        return isinstance(self.ending, Refused | Ungranted)

    @property
    def found_no_room(self) -> bool:
        """Fast open was off, which a full queue could explain."""
        return self.queue_was_full or isinstance(self.ending, Ungranted)

    @property
    def was_reset(self) -> bool:
        return isinstance(self.ending, WasReset)

    @property
    def goes_alone(self) -> bool:
        return self.exclusive or self.was_reset or self.was_refused

    @property
    def owner(self) -> str:
        attempt = f", attempt {self.attempts}" if self.attempts > 1 else ""
        return f"{self.case.id} [ipv{self.family}]{attempt}"


def job_at(target: Target, case: Case, family: int, catalogue: Catalogue) -> Job:
    """A case as a target has to be asked it."""
    crowds = case.crowds_main and not target.offers("listen")
    return Job(case, family, catalogue, exclusive=case.exclusive or crowds)


def silence_of(ending: Ending, flows: Sequence[Flow], tally: Tally) -> Silence:
    """What was met by an attempt that ended on something that did not come.

    flows: its conversations, in their order. Nothing of ours is at stake that the target has
    acknowledged; and of its own segments as many as came on one conversation, and one more. Where
    nothing at all came on the conversation that failed, its own packets alone are at stake: what
    else the case said cannot have kept the answer to a first SYN away, unless the target is full.
    """
    unproven = sum(each.unproven for each in flows)
    theirs = [len(each.heard) for each in flows]
    names = [each.name for each in flows]
    # The last of that name: an earlier one may have had the same ends.
    at = len(names) - 1 - names[::-1].index(ending.flow) if ending.flow in names else len(names) - 1
    failed = flows[at] if flows else None
    is_deaf = failed is not None and not failed.heard
    exposure = Exposure(
        point=max(failed.unproven if failed is not None and is_deaf else unproven, 1),
        step=max(unproven, 1 + (theirs[at] if theirs else 0)),
        whole=max(sum(each.proof.sent for each in flows), 1 + sum(theirs)),
    )
    return Silence(ending.reason, at, theirs[at] if theirs else 0, tally, exposure)


def was_accepted(flow: Flow) -> bool:
    """Whether data in the SYN was acknowledged by the SYN-ACK."""
    first = next((each for each in flow.heard if each.is_syn_ack), None)
    return bool(flow.opening.payload) and first is not None and flow.acknowledged(first) > 0


def longest_first(jobs: Sequence[Job]) -> list[Job]:
    """In an order in which they end together. jobs: in that of the catalogue, of each family.

    By what they took before, and at first by what they wait for, then the last sections. Stimuli
    mostly wait for the target: each has cases around it, so that there is always something to do.
    """
    places: dict[str, int] = {}
    for place, job in enumerate(jobs):
        places.setdefault(job.case.id, place)

    def taking(job: Job) -> float:
        return job.seconds or job.case.waits

    order = sorted(jobs, key=lambda job: (taking(job), places[job.case.id]), reverse=True)
    known = [job for job in order if taking(job)]
    waiting = [job for job in order if not (job.case.judges or taking(job))]
    others = [job for job in order if job.case.judges and not taking(job)]
    mixed = [job for pair in zip(waiting, others, strict=False) for job in pair]
    return [*known, *mixed, *waiting[len(others) :], *others[len(waiting) :]]
