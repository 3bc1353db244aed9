"""The interface of benches, which run programs: simulated, at the local kernel, or on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from scapy_tfo.executor.conduct import Counts
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.program.program import Program


class Bench(Protocol):
    """A target, ready to be fuzzed.

    name: as the user gave it. families: that it has. counts: how often each rule of the oracle
    applied in all programs so far.
    """

    name: str
    counts: Counts
    families: tuple[int, ...]

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        """Run programs, many at a time where the target allows, and yield verdicts by number, in
        any order. Raises TargetError where the target has gone."""
        ...

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        """Run one program alone, with more patience, and keep its packets. Raises TargetError."""
        ...

    def alive(self) -> str:
        """A control handshake and a valid fast open: "" if they work, else what does not."""
        ...

    def counters(self) -> dict[str, int]:
        """The target's own fast open counters (TcpExt names), or nothing."""
        ...

    def close(self) -> None:
        """Give everything back; harmless when called twice."""
        ...


@dataclass(slots=True)
class VolleyResult:
    """What a volley showed.

    sent: probes. heard: packets that came. again: probes that were sent twice, for want of an
    answer. suspects: programs, each with what looked wrong, at most `MOST_SUSPECTS`.
    """

    sent: int = 0
    heard: int = 0
    again: int = 0
    suspects: list[tuple[Program, str]] = field(default_factory=list)


@runtime_checkable
class Volleyer(Bench, Protocol):
    """A bench that can send them, while no program is under way."""

    def volley(self, seed: int) -> VolleyResult:
        """Send the volley of a seed, and tell what looked wrong. Raises TargetError."""
        ...
