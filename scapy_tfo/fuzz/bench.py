"""What runs programs: the simulation, the local kernel in a namespace, or a target on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from scapy_tfo.fuzz.program import Program
from scapy_tfo.fuzz.verdict import TracedPacket, Verdict


class Bench(Protocol):
    """A target, ready to be fuzzed.

    name: as the user gave it. families: that it has.
    """

    name: str
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
