"""Every rule of the oracle by its id, whoever holds it against packets.

Rules of traffic follow from what both ends have sent: whoever sees the packets can judge by them,
beside any case, program, client or capture. Rules of the model follow from what a right target may
do by then with all that it was sent, which only the fuzzer keeps track of.
"""

from __future__ import annotations

from typing import NamedTuple

from scapy_tfo.oracle import counters, oracle
from scapy_tfo.oracle.conduct import conduct
from scapy_tfo.oracle.conduct.conduct import Tally
from scapy_tfo.oracle.parts import rules
from scapy_tfo.oracle.parts.watch import Watch

_REGISTERING = (counters, oracle)
"""Modules whose import registers the rules of the model."""


class Entry(NamedTuple):
    """A rule. of_traffic: else of the model. requirement: in specs/, that a breach of a rule of the
    model violates if nothing tells more; "" for the others, whose entries in specs/ name them."""

    id: str
    of_traffic: bool
    requirement: str = ""


def every() -> dict[str, Entry]:
    """The rules by id: those of traffic first. Raises ValueError if two have one id."""
    found: dict[str, Entry] = {}
    for entry in (
        *(Entry(each.name, of_traffic=True) for each in conduct.RULES),
        *(Entry(each.id, False, each.requirement) for each in rules.RULES.values()),
    ):
        if entry.id in found:
            raise ValueError(f"two rules {entry.id}")
        found[entry.id] = entry
    return found


def applied(watch: Watch, tally: Tally) -> dict[str, int]:
    """How often each rule applied, by id. watch: counts those of the model, tally of traffic."""
    model = {name: each.in_force for name, each in rules.watched(watch).items()}
    return tally.by_name | {name: count for name, count in model.items() if count}
