"""Volleys in a campaign: single SYNs by the thousand, where a bench can send them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from scapy_tfo.fuzz import fingerprint
from scapy_tfo.fuzz.batches import Tally
from scapy_tfo.fuzz.bench import Bench
from scapy_tfo.fuzz.plan import Plan
from scapy_tfo.fuzz.program import Program
from scapy_tfo.fuzz.volley import Result


@runtime_checkable
class Volleyer(Bench, Protocol):
    """A bench that can send them, while no program is under way."""

    def volley(self, seed: int) -> Result:
        """Send the volley of a seed, and tell what looked wrong. Raises TargetError."""
        ...


def fired(bench: Volleyer, plan: Plan, batches: Iterable[int]) -> dict[int, Tally]:
    """Send the volleys of some batches, and count, for each batch.

    What looks wrong is sent again as programs, for the model to judge. Raises TargetError.
    """
    tallies: dict[int, Tally] = {}
    suspects: list[tuple[int, Program]] = []
    for number in batches:
        tally = tallies[number] = Tally()
        for each in range(plan.volleys):
            seed = plan.seed_of(number * plan.batch) + each
            result = bench.volley(seed)
            tally.seeded += fingerprint.mix(~seed & fingerprint.MASK)
            tally.singles += result.sent
            tally.probes += result.sent
            tally.heard += result.heard
            suspects += [(number, program) for program, _ in result.suspects]
    for at, verdict in bench.run(enumerate(program for _, program in suspects)):
        number, program = suspects[at]
        for violation in verdict.violations:
            tallies[number].note(number * plan.batch, violation, program)
    return tallies
