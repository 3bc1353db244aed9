"""Measures how long the oracle takes to judge, beside the stack that it judges.

    python bench/oracle.py [PROGRAMS [ROUNDS]]      (default: 400 programs, 5 rounds)

Runs programs of the grammar at the reference in memory, and prints the CPU time of each packet
that the reference takes for its own work, and what each oracle takes beside it: the model of the
fuzzer, which builds the packets, too, and the rules of traffic, which read them from bytes. The
ratio is the median of the rounds, each with its own measure of the reference, so that a busy
machine tells the same.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Sequence

from scapy_tfo.executor import play, simulated
from scapy_tfo.executor.simulated import new_stack
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.program.program import Program
from scapy_tfo.reference.stack import Stack
from scapy_tfo.variants.registry import AnyStack

PROGRAMS, ROUNDS = 400, 5


class TimedWorld(simulated.World):
    """A stack that notes what it takes itself, in seconds of CPU time over all of its kind."""

    spent = 0.0

    def give(self, packet: bytes) -> list[bytes]:
        began = time.process_time()
        came = super().give(packet)
        TimedWorld.spent += time.process_time() - began
        return came

    def wait_until(self, when: float) -> list[bytes]:
        began = time.process_time()
        came = super().wait_until(when)
        TimedWorld.spent += time.process_time() - began
        return came


def timed_stack(mutant: AnyStack, seed: int = 0) -> Stack:
    """A new stack; what it takes to make it is counted, too."""
    began = time.process_time()
    made = new_stack(mutant, seed)
    TimedWorld.spent += time.process_time() - began
    return made


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    count, rounds = (*map(int, arguments), *(PROGRAMS, ROUNDS)[len(arguments) :])
    simulated.World = TimedWorld  # type: ignore[misc]
    simulated.new_stack = timed_stack
    bench = simulated.SimulatedBench("sim:reference")
    programs = [(seed, program_for(seed)) for seed in range(count)]
    measured(bench, programs[:50], every=1)
    found = [
        (measured(bench, programs, every=0), measured(bench, programs, every=1))
        for _ in range(rounds)
    ]
    how = "interpreted" if play.__file__.endswith(".py") else "compiled"
    print(f"{how}, Python {platform.python_version()}, {count} programs, {rounds} rounds")
    reference = statistics.median(without[0] for without, _ in found)
    print(f"reference: {reference * 1e6:.1f} us of CPU time a packet")
    for name, ratios in (
        ("model, and building packets", [without[1] / without[0] for without, _ in found]),
        (
            "rules of traffic",
            [with_[1] / with_[0] - without[1] / without[0] for without, with_ in found],
        ),
    ):
        print(f"{name}: {statistics.median(ratios):.2f} of it")
    return 0


def measured(
    bench: simulated.SimulatedBench, programs: Sequence[tuple[int, Program]], *, every: int
) -> tuple[float, float]:
    """Seconds of CPU time a packet, of the reference and of all the rest. every: as for
    `executor.conduct.Counts`."""
    bench.counts.every = every
    TimedWorld.spent = 0.0
    began = time.process_time()
    packets = sum(verdict.sent + verdict.heard for _, verdict in bench.run(programs))
    whole, own = time.process_time() - began, TimedWorld.spent
    return own / packets, (whole - own) / packets


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
