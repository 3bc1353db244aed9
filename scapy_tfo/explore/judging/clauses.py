"""The requirements that findings of an exploration break, by the names of their rules."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

from scapy_tfo import spec, tcp_rules

AUDITS: Mapping[str, str] = MappingProxyType(
    {
        "acknowledged-not-delivered": "TCP-ACK-3",
        "answer-changed": "TCP-RTO-3",
        "answer-cut": "TCP-FIN-2",
        "answer-ends-early": "TCP-FIN-3",
        "answer-ends-twice": "TCP-FIN-4",
        "answer-missing": "TCP-SEND-4",
        "answer-to-nothing": "TCP-SYN-5",
        "answer-without-end": "TCP-FIN-6",
        "at-the-limit": "LIM-4",
        "backlog-moved": "AFT-10",
        "client-failed": "TCP-RST-6",
        "client-never-done": "TCP-FIN-5",
        "closed-port": "ACC-12a",
        "cookie-of-another": "SRV-1",
        "cookie-tells-another": "SRV-2",
        "fast-open-refused": "TCP-TFO-11",
        "foreign-cookie-taken": "SRV-1",
        "fresh-cookie-refused": "TCP-TFO-11",
        "forged-taken": "ACC-14",
        "handed-over-early": "TCP-SYN-14",
        "handed-over-twice": "TCP-SYN-17",
        "never-accepted": "TCP-ACK-3",
        "never-told": "AFT-11",
        "no-cookie": "SRV-9",
        "option-form": "OPT-6a",
        "option-odd": "OPT-1",
        "option-unasked": "TCP-TFO-3",
        "options-changed": "TCP-SYN-19",
        "over-the-pending-limit": "LIM-1",
        "pending-limit-moved": "AFT-10",
        "pending-miscounted": "LIM-1",
        "refused-data-taken": "TCP-TFO-4",
        "refused-text-acknowledged": "TCP-TFO-4",
        "reset-not-believed": "TCP-RST-7",
        "retired-cookie-taken": "SRV-4",
        "server-failed": "TCP-RST-6",
        "server-never-done": "TCP-FIN-1",
        "signed-cookie-refused": "SRV-8",
        "signed-text-lost": "TCP-ACK-3",
        "syn-ack-number": "TCP-SYN-2",
        "syn-unanswered": "TCP-SYN-1",
        "text-changed": "TCP-SEQ-4",
        "text-cut": "TCP-FIN-12",
        "text-ends-early": "TCP-FIN-12",
        "text-ends-twice": "AFT-2",
        "text-missing": "TCP-ACK-3",
        "text-without-end": "TCP-FIN-1",
        "waiting-text-lost": "TCP-ACK-3",
        "waiting-text-wrong": "TCP-SEQ-4",
        "waits-for-ever": "AFT-11",
        "wrong-signature": "ACC-9",
    }
)
"""What is judged by the applications and by audits, and not by a rule for packets."""
_SERVES_NO_MORE = "AFT-10"


@functools.cache
def _of_packets() -> Mapping[str, str]:
    rules = tcp_rules.load()
    return {name: each.id for each in reversed(list(rules.values())) for name in each.rule}


def is_of_packets(rule: str) -> bool:
    """Whether a rule of specs/tcp-rules.toml is judged by that name."""
    return rule in _of_packets()


def clause_of(rule: str) -> str:
    """The id of the requirement that a finding breaks. rule: of its problem; one of the fuzzer's
    model has the id in front."""
    first = rule.partition(" ")[0]
    if first in spec.load():
        return first
    return _of_packets().get(rule) or AUDITS.get(rule, _SERVES_NO_MORE)
