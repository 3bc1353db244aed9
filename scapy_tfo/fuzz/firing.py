"""Volleys in a campaign: single SYNs by the thousand, where a bench can send them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from scapy_tfo.fuzz import fingerprint
from scapy_tfo.fuzz.batches import Tally
from scapy_tfo.fuzz.bench import Bench
from scapy_tfo.fuzz.plan import Plan
from scapy_tfo.fuzz.volley import Result


@runtime_checkable
class Volleyer(Bench, Protocol):
    """A bench that can send them, while no program is under way."""

    def volley(self, seed: int) -> Result:
        """Send the volley of a seed, and tell what looked wrong. Raises TargetError."""
        ...


def fired(bench: Volleyer, plan: Plan, numbers: range) -> Tally:
    """Send the volleys of a batch, whose programs have these numbers, and count.

    What looks wrong is sent again as programs, for the model to judge. Raises TargetError.
    """
    tally = Tally()
    for each in range(plan.volleys):
        seed = plan.seed_of(numbers.start) + each
        result = bench.volley(seed)
        tally.seeded += fingerprint.mix(~seed & fingerprint.MASK)
        tally.singles += result.sent
        tally.probes += result.sent
        tally.heard += result.heard
        suspects = [program for program, _ in result.suspects]
        for at, verdict in bench.run(enumerate(suspects)):
            for violation in verdict.violations:
                tally.note(numbers.start, violation, suspects[at])
    return tally
