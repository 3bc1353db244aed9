"""Attributes a broken rule to a requirement, by the features of the program.

A reduced program holds nothing that the violation can do without, so its features name the
clause: a stream that goes wrong only if an ICMP error came in belongs to the requirement about
ICMP errors. Features of other flows of the program begin with "other-".
"""

from __future__ import annotations

from collections.abc import Set

ICMP = "AFT-8"
"""The requirement about ICMP messages."""
_Table = tuple[tuple[str, str], ...]

_BROKEN_BEFORE: _Table = (
    ("unsound-options", "OPT-7"),
    ("bad-offset", "OPT-7"),
    ("other-unsound-options", "OPT-7"),
    ("other-bad-offset", "OPT-7"),
    ("bad-checksum", "ACC-14"),
)
_LATER: _Table = (
    ("icmp", ICMP),
    ("option-elsewhere", "OPT-4"),
    ("bad-ack", "AFT-4"),
    ("rst", "AFT-9"),
    ("odd-syn", "ACC-12"),
    ("syn-when-open", "DUP-2"),
    ("other-data-in-syn", "DUP-6"),
    ("other-syn", "DUP-6"),
    ("duplicate-syn", "DUP-1"),
    ("old-timestamp", "AFT-6"),
    ("wraps", "ACC-11"),
    ("syn-fin", "ACC-12"),
)
_ELSEWHERE: _Table = (
    ("other-icmp", ICMP),
    ("other-rst", "AFT-9"),
    ("other-odd-syn", "ACC-12"),
    ("other-option-elsewhere", "OPT-4"),
)
_LOSS: _Table = (
    ("lost-handshake", "AFT-3"),
    ("lost", "AFT-11"),
    ("idle", "AFT-11"),
    ("bulk", "AFT-11"),
)
_CONVERSATION: _Table = (
    ("window", "AFT-7"),
    ("small-mss", "AFT-7b"),
    ("fin", "AFT-2"),
    ("no-ack-flag", "AFT-1"),
    ("odd-flags", "ACC-10"),
    ("cookie-alone", "ACC-5"),
    ("overlap", "ACC-9"),
    ("gap", "AFT-1"),
    ("refused", "ACC-3"),
    ("plain-data", "ACC-4"),
    ("text-with-ack", "AFT-1"),
    ("timestamps", "AFT-6"),
)

_GROUPS: dict[str, _Table] = {
    "stream": (
        *_BROKEN_BEFORE,
        *_LATER,
        *_ELSEWHERE,
        *_LOSS,
        *_CONVERSATION,
        ("crowded", "LIM-4"),
        ("other-open", "ACC-2"),
    ),
    "reset": (*_BROKEN_BEFORE, *_LATER, *_ELSEWHERE, *_LOSS, ("other-open", "ACC-2")),
    "end": (*_BROKEN_BEFORE, *_LATER, *_ELSEWHERE, *_LOSS, ("window", "AFT-7")),
    "resend": (*_BROKEN_BEFORE, *_LATER, *_ELSEWHERE),
    "opening": (
        *_BROKEN_BEFORE,
        ("icmp", ICMP),
        ("option-elsewhere", "OPT-4"),
        ("rst", "AFT-9"),
        ("odd-syn", "ACC-12"),
        ("odd-flags", "ACC-10"),
        ("traffic-class", "SRV-1"),
        *_ELSEWHERE,
        ("other-open", "ACC-2"),
    ),
    "silence": (*_BROKEN_BEFORE, *_LATER, *_ELSEWHERE, *_LOSS),
    "number": (("wraps", "ACC-11"),),
    "blocks": (("bad-ack", "AFT-4"), ("no-ack-flag", "AFT-1")),
    "option": (("option-elsewhere", "OPT-4"),),
    "unasked": (
        ("bad-checksum", "ACC-14"),
        ("option-elsewhere", "OPT-4"),
        ("other-option-elsewhere", "OPT-4"),
    ),
}


def clause_of(group: str, features: Set[str], default: str) -> str:
    """The requirement for a broken rule of a group, by the features of its program."""
    for feature, requirement in _GROUPS.get(group, ()):
        if feature in features:
            return requirement
    return default
