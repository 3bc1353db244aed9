"""What tests exported from findings call."""

from __future__ import annotations

from contextlib import closing

from scapy_tfo.errors import TargetError
from scapy_tfo.fuzz.findings.finding import ALIVE, BALANCED
from scapy_tfo.program.program import loads
from scapy_tfo.targets.benches import open_bench
from scapy_tfo.targets.kept import kept_target


def target_of(given: str | None, kept: str) -> str:
    """Where a test runs its program: at --tfo-target if that is given, else where it was found.

    Raises SetupError where that is no target on this machine: the user must name such a one.
    """
    return given or kept_target(kept, "this test", "--tfo-target")


def broken_by(program: str, rule: str, target: str, requirement: str = "") -> list[str]:
    """How a target breaks a rule of the model in one run of a program (JSON), in words.

    requirement: what the finding is named by, as programs next to it showed; else the one that the
    program points to.
    Raises ProgramError, SetupError, and TargetError where the target cannot be judged.
    """
    with closing(open_bench(target)) as bench:
        verdict, _ = bench.trace(loads(program))
        ill = bench.alive() if rule in (ALIVE, BALANCED) else ""
    if verdict.unjudged:
        raise TargetError(f"{target} cannot be judged: {verdict.unjudged}")
    told = [
        f"{requirement or each.requirement}: expected {each.expected}; got {each.actual}"
        for each in verdict.violations
        if each.rule == rule
    ]
    return [*told, ill] if ill else told
