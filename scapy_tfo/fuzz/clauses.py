"""Which requirement a broken rule of the model belongs to.

A reduced program has nothing in it that the violation can do without. So what is special about
it names the clause: a stream that goes wrong only if an ICMP error came in belongs to the
requirement about ICMP errors.
"""

from __future__ import annotations

from collections.abc import Set

_STREAM = (
    ("icmp", "AFT-8"),
    ("bad-ack", "AFT-4"),
    ("option-elsewhere", "OPT-4"),
    ("bad-checksum", "ACC-14"),
    ("rst", "AFT-9"),
    ("syn-when-open", "DUP-2"),
    ("other-syn", "DUP-6"),
    ("duplicate-syn", "DUP-1"),
    ("old-timestamp", "AFT-6"),
    ("syn-fin", "ACC-12"),
    ("no-ack-flag", "AFT-1"),
    ("window", "AFT-7"),
    ("small-mss", "AFT-7b"),
    ("wraps", "ACC-11"),
    ("lost", "AFT-11"),
    ("fin", "AFT-2"),
    ("text-with-ack", "AFT-1"),
    ("gap", "AFT-1"),
)
"""Features of a flow, the most particular first."""

_BY_FEATURE: dict[str, tuple[tuple[str, str], ...]] = {
    "stream": _STREAM,
    "end": (*(each for each in _STREAM if each[0] not in ("small-mss",)), ("", "AFT-2")),
    "silence": _STREAM,
    "reset": _STREAM,
    "resend": (("icmp", "AFT-8"), ("fin", "AFT-3"), ("", "AFT-3")),
}


def clause_of(group: str, features: Set[str], default: str) -> str:
    """The requirement for a broken rule of a group, by the features of its flow."""
    for feature, requirement in _BY_FEATURE.get(group, ()):
        if not feature or feature in features:
            return requirement
    return default
