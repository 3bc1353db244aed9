"""A bench of a stack that tells what it executes: each program with the branches it led to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from scapy_tfo.executor.bench import VolleyResult
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.program.program import Program
from scapy_tfo.stacks.file import is_target_file

_FEW = 8
"""Programs awake at a time."""


class Watch(Protocol):
    """Tells what a stack has executed, or counted, of its own."""

    def take(self) -> frozenset[str]:
        """Names of what it has since the last call; each begins with `TARGET`."""
        ...

    def close(self) -> None:
        """Give everything back; harmless when called twice."""
        ...


class MappedBench:
    """See `Volleyer`. bench: of the stack, which this one closes, and the watch with it. is_slow:
    the watch tells little for the time that it takes, which is the case for `counts.slowly`.

    Where `counts.target` asks for it, few programs are awake at a time, so that what the stack
    executes can be told to be of one of them: of those that have just sent, or heard, something.
    """

    def __init__(self, bench: LiveBench, watch: Watch, *, is_slow: bool = False) -> None:
        self._bench = bench
        self._watch, self._is_slow = watch, is_slow
        self.name, self.families = bench.name, bench.families
        self.counts, self.profile = bench.counts, bench.profile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, name)

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        if not self.counts.target or (self._is_slow and not self.counts.slowly):
            yield from self._bench.run(programs)
            return
        self._watch.take()
        self._bench.look(self._watch.take, _FEW)
        try:
            yield from self._bench.run(programs)
        finally:
            self._bench.look(None)

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        return self._bench.trace(program)

    def volley(self, seed: int) -> VolleyResult:
        return self._bench.volley(seed)

    def alive(self) -> str:
        return self._bench.alive()

    def counters(self) -> dict[str, int]:
        return self._bench.counters()

    def close(self) -> None:
        self._bench.close()
        self._watch.close()


def why_unmapped(name: str) -> str:
    """Why the target of a name shows nothing of its own code, in one sentence for the user."""
    if name.startswith("sim:"):
        return f"{name} is part of this tool, and has no coverage of its own"
    if is_target_file(name):
        return f"the stack of {name} does not write the map: build it with docs/stacks/coverage.c"
    return (
        f"what runs at {name} was started by others: give a target file with 'start', and build"
        " the stack with docs/stacks/coverage.c"
    )
