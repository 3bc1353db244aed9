"""`scapy-tfo explore TARGET --life`: one world that grows old, audited as it does."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scapy_tfo.explore.life import Lived


def live(name: str, chosen: argparse.Namespace) -> int:
    """Let a simulated stack grow old; the exit status. name: without `sim:`."""
    from scapy_tfo.explore.life import Life
    from scapy_tfo.report.output import check_file

    if chosen.json is not None:
        check_file(chosen.json)
    end = None if chosen.all else time.monotonic() + chosen.seconds

    def stop() -> bool:
        return end is not None and time.monotonic() >= end

    lived = Life(name, seed=chosen.seed, stop=stop).live()
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(asdict(lived), indent=2) + "\n", encoding="utf-8")
    _tell(lived)
    return 1 if lived.changes else 0


def _tell(lived: Lived) -> None:
    for says, count in lived.passed.items():
        print(f"{count:>8,}  {says}")
    whole = "all ages" if lived.complete else "as far as time allowed"
    found = "" if lived.changes else ", nothing found"
    print(f"{lived.target}: {lived.audits} audits in {lived.days:.1f} days, {whole}{found}")
    for each in lived.changes:
        problem = each.problem
        print(f"\n{problem.rule}: {problem.actual}; expected: {problem.expected}")
        print(f"  after {each.after}; scapy-tfo explore {lived.target} --life --seed {lived.seed}")
