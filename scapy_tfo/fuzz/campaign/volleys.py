"""Sends the volleys of a campaign's batches: single SYNs by the thousand."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo.executor.bench import Volleyer
from scapy_tfo.fuzz.generation.batches import Tally
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program import fingerprint
from scapy_tfo.program.program import Program


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
