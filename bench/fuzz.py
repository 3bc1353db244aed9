"""Measures how fast a campaign sends and checks SYNs and programs, at this kernel in a namespace.

    python bench/fuzz.py [SECONDS]      (default: 10 for each)

Prints the number a second, by the wall clock and by this process's own CPU time, for single SYNs
in volleys; for short sequences (a fast open whose echo is awaited, more data, and its echo), also
as a campaign that keeps them in a store; and for programs of the grammar. The kernel answers a
packet during the call that sends it, so both times include the kernel's work as the target; they
do not include the echo server's. Programs with long waits are left out. Without the right to make
namespaces it measures nothing. `make compiled` makes an environment whose Python runs it compiled.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor import play
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Wait

SECONDS = 10.0
LONGEST_WAIT = 0.5
"""Seconds of waiting in a program that is still measured."""

_GOOD = (Option("mss", 1460), Option("fo", cookie=Cookie()))

Count = tuple[int, int]
"""Of what was measured, and of packets both ways."""


def main(arguments: list[str]) -> int:
    """Measure and print; 2 if nothing can be measured."""
    try:
        seconds = float(arguments[0]) if arguments else SECONDS
        bench = LiveBench.lab()
    except (SetupError, TargetError, ValueError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    how = "interpreted" if play.__file__.endswith(".py") else "compiled"
    print(f"{how}, Python {platform.python_version()}, Linux {platform.release()}")
    try:
        measure("single SYNs", seconds, lambda until: volleys(bench, until))
        measure("short sequences", seconds, lambda until: programs(bench, _all_short(until)))
        measure("the same, store on", seconds, lambda _: campaign(bench, seconds))
        measure("programs", seconds, lambda until: programs(bench, _of_grammar(until)))
        print(f"afterwards: {bench.alive() or 'the target works'}")
    finally:
        bench.close()
    return 0


def measure(what: str, seconds: float, run: Callable[[float], Count]) -> None:
    """Run until so many seconds have gone, and print how often."""
    started, spent = time.perf_counter(), time.process_time()
    count, packets = run(started + seconds)
    wall, ours = time.perf_counter() - started, time.process_time() - spent
    print(
        f"{what}: {count / wall:,.0f} a second, {count / ours:,.0f} a second of our CPU time; "
        f"{packets / count:.1f} packets each"
    )


def volleys(bench: LiveBench, until: float) -> Count:
    """Fire volleys; what looks wrong is printed."""
    sent = packets = seed = 0
    while time.perf_counter() < until:
        result = bench.volley(seed)
        seed += 1
        sent += result.sent
        packets += result.sent + result.heard
        for program, why in result.suspects:
            print(f"  suspect: {why}: {program}")
    return sent, packets


def programs(bench: LiveBench, made: Iterator[tuple[int, Program]]) -> Count:
    """Run programs that are made as they are sent."""
    count = packets = found = 0
    for _, verdict in bench.run(made):
        count += 1
        packets += verdict.sent + verdict.heard
        found += bool(verdict.violations)
    print(f"  {found} of {count} programs break a rule of the model")
    return count, packets


def campaign(bench: LiveBench, seconds: float) -> Count:
    """Run a campaign of short sequences, with its looks at the target's health in between."""
    with tempfile.TemporaryDirectory() as directory:
        plan = Plan(target=bench.name, profile="linux", grammar="short", live=True, mutate=False)
        with closing(Store.create(Path(directory) / "campaign.sqlite", plan)) as store:
            Campaign(store, short, bench, lambda: bench, seconds=seconds).run()
            totals = store.totals()
    return totals.programs, totals.probes + totals.heard


def short(seed: int, _profile: str) -> Program:
    """A fast open whose echo is awaited, more data, and its echo; then a RST."""
    size = 1 + seed % 300
    opening = Send(0, "S", size=size, options=_GOOD)
    more = Send(0, "P.", 1 + size, "all", 10 + seed % 7)
    return Program((Flow(),), (opening, Wait(), more, Wait()), "reset")


def _all_short(until: float) -> Iterator[tuple[int, Program]]:
    seed = 0
    while time.perf_counter() < until:
        yield seed, short(seed, "live")
        seed += 1


def _of_grammar(until: float) -> Iterator[tuple[int, Program]]:
    seed = 0
    while time.perf_counter() < until:
        program = program_for(seed, "live")
        if _waits(program) <= LONGEST_WAIT:
            yield seed, program
        seed += 1


def _waits(program: Program) -> float:
    return sum(each.seconds or 0.0 for each in program.steps if isinstance(each, Wait))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
