"""Measures what the rules of traffic cost in a run of the suite.

    python bench/watched_suite.py [ROUNDS]      (default: 5)

Judges the reference in memory by all quick cases, over IPv4, with every packet held against the
rules and with none, in turn. Prints the CPU time of both, and which part of a run the rules take,
as the median of the rounds: so a busy machine tells the same.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Sequence

from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import Broken, Conduct
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.segment import Segment
from scapy_tfo.spec import load
from scapy_tfo.suite import switchboard
from scapy_tfo.suite.registry import all_cases

ROUNDS = 5


class Unwatched(Conduct):
    """Looks at nothing."""

    def sent(self, _segment: Segment, _at: float | None = None) -> None: ...

    def error(self, _error: IcmpError | None = None, _at: float | None = None) -> None: ...

    def came(self, _segment: Segment, _at: float, _packet: int) -> Sequence[Broken]:
        return ()

    def waited(self, _at: float, _packet: int = 0) -> list[Broken]:
        return []


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    rounds = int(arguments[0]) if arguments else ROUNDS
    measured(Conduct)
    found = [(measured(Unwatched), measured(Conduct)) for _ in range(rounds)]
    without, with_ = (statistics.median(each) for each in zip(*found, strict=True))
    part = statistics.median((watched - blind) / watched for blind, watched in found)
    print(f"Python {platform.python_version()}, {rounds} rounds")
    print(f"CPU time: {without:.2f} s without the rules, {with_:.2f} s with them")
    print(f"the rules take {100 * part:.0f} % of a run")
    return 0


def measured(conduct: type[Conduct]) -> float:
    """Seconds of CPU time of a run."""
    switchboard.Conduct = conduct  # type: ignore[misc]
    began = time.process_time()
    simulate("sim:reference", all_cases(), load(), Options(families=[4]))
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
