"""What a run has found so far, for the reports of one that is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo import __version__
from scapy_tfo.suite.result import CapturedPacket, Result, Run, Verdict

TOOL = f"scapy-tfo {__version__}"


class BrokenOffError(KeyboardInterrupt):
    """A run was interrupted. run: what was finished until then."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


@dataclass(slots=True)
class Record:
    """Kept by a run as it goes. results: those whose verdicts stand. packets: captured so far, as
    the results number them. wanted: results that the whole run would have."""

    results: list[Result] = field(default_factory=list)
    packets: Sequence[CapturedPacket] = ()
    wanted: int = 0

    def planning(self, tell: Callable[[int], None] | None) -> Callable[[int], None]:
        """What to call with the number of results to come."""

        def plan(wanted: int) -> None:
            self.wanted = wanted
            if tell is not None:
                tell(wanted)

        return plan

    def taking(self, tell: Callable[[Result], None] | None) -> Callable[[Result], None]:
        """What to call with each result: keeps it, then tells it to `tell`."""

        def take(result: Result) -> None:
            self.results.append(result)
            if tell is not None:
                tell(result)

        return take

    def run(self, target: str, started: float, seconds: float) -> Run:
        """What there is of the run. started: seconds since the epoch. seconds: wall time."""
        return Run(
            target=target,
            tool=TOOL,
            started=started,
            seconds=seconds,
            results=tuple(self.results),
            packets=tuple(self.packets),
            notes=(missing(len(self.results), self.wanted),),
            interrupted=True,
        )


def missing(there: int, wanted: int) -> str:
    """The note of an interrupted run on how many of its results there are."""
    return f"interrupted: {max(wanted - there, 0)} of {wanted} results are missing"


def doubted(result: Result) -> Result:
    """A result, where the path is known to lose packets: its silence proves nothing then."""
    if not result.silent:
        return result
    reason = f"{result.reason}; the path loses packets"
    return replace(result, verdict=Verdict.INCONCLUSIVE, reason=reason, silent=False)
