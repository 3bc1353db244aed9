"""What the tests made of findings call."""

from __future__ import annotations

from contextlib import closing

from scapy_tfo.fuzz.benches import open_bench
from scapy_tfo.fuzz.findings import ALIVE, BALANCED
from scapy_tfo.fuzz.program import loads


def broken_by(program: str, rule: str, target: str) -> list[str]:
    """How a target breaks a rule of the model in one run of a program (JSON), in words.

    Raises ProgramError, SetupError and TargetError.
    """
    with closing(open_bench(target)) as bench:
        verdict, _ = bench.trace(loads(program))
        ill = bench.alive() if rule in (ALIVE, BALANCED) else ""
    told = [
        f"{each.requirement}: expected {each.expected}; got {each.actual}"
        for each in verdict.violations
        if each.rule == rule
    ]
    return [*told, ill] if ill else told
