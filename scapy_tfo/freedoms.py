"""The freedoms of `specs/freedoms.toml`: what the standards leave open to a host, as values.

Where a standard allows several behaviours that a peer can tell apart, no case may blame any of
them. The file is looked for where `scapy_tfo.spec` looks for the requirements.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo import spec
from scapy_tfo.errors import SetupError

FILE = "freedoms.toml"

ROLES = ("wire", "server", "client")
"""At which end a freedom is seen; wire: at both."""

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CLAUSE = re.compile(r"RFC [0-9]+ section [0-9.]*[0-9]")
_HEADER = "[[freedom]]"
_FIELDS = ("id", "role", "kind", "clause", "words", "free", "choices", "default")


class Kind(enum.StrEnum):
    """What leaves the choice open.

    MAY: that keyword. SHOULD: that keyword, which can be given up with reason (RFC 2119 section
    3). INTERVAL: a range of numbers. IMPLEMENTATION: the text hands the choice to the
    implementation. SILENCE: the text says nothing.
    """

    MAY = "MAY"
    SHOULD = "SHOULD"
    INTERVAL = "interval"
    IMPLEMENTATION = "implementation"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """One choice that a peer can see and no standard makes.

    id: a name. role: one of ROLES. clause: an RFC's section. words: a few words of it; of a
    silence, the nearest ones. free: what is open, in our words. choices: what legal stacks do.
    default: what the reference does, one of the choices.
    """

    id: str
    role: str
    kind: Kind
    clause: str
    words: str
    free: str
    choices: tuple[str, ...]
    default: str


def load(where: Path | None = None) -> Mapping[str, Freedom]:
    """The freedoms by id, in the order of the file in `where`, or in spec.directory() for None.

    Raises SetupError for a missing or damaged file: one line that names the file, the entry, the
    field, and what to do.
    """
    path = (spec.directory() if where is None else where) / FILE
    data = spec.read_toml(path, "the freedoms")
    entries = data.get("freedom")
    if set(data) != {"freedom"} or not isinstance(entries, list) or not entries:
        raise SetupError(f"{path}: write each freedom as a {_HEADER} table, and nothing else")
    found: dict[str, Freedom] = {}
    for number, entry in enumerate(entries, 1):
        each = _freedom(path, number, entry)
        if each.id in found:
            raise _damaged(path, number, "id", f"{each.id} is used twice; rename one")
        found[each.id] = each
    return found


def _freedom(path: Path, number: int, entry: Any) -> Freedom:
    if not isinstance(entry, dict):
        raise _damaged(path, number, "freedom", f"write each one as a {_HEADER} table")
    for name in _FIELDS:
        if name not in entry:
            raise _damaged(path, number, name, "missing; add it")
    for name, value in entry.items():
        if name not in _FIELDS:
            raise _damaged(path, number, name, f"unknown; the fields are {', '.join(_FIELDS)}")
        _check_text(path, number, name, value)
    if not _ID.fullmatch(entry["id"]):
        raise _damaged(path, number, "id", f"{entry['id']!r} is no name such as ack-delay")
    if not _CLAUSE.fullmatch(entry["clause"]):
        raise _damaged(path, number, "clause", "write it as in 'RFC 9293 section 3.8.6.3'")
    for name, allowed in (("role", ROLES), ("kind", tuple(Kind)), ("default", entry["choices"])):
        if entry[name] not in allowed:
            raise _damaged(path, number, name, f"{entry[name]!r} is none of {', '.join(allowed)}")
    choices = tuple(entry["choices"])
    if len(choices) < 2 or len(set(choices)) < len(choices):
        raise _damaged(path, number, "choices", "give at least two, each once")
    return Freedom(**{**entry, "kind": Kind(entry["kind"]), "choices": choices})


def _check_text(path: Path, number: int, name: str, value: Any) -> None:
    what = "an array of strings" if name == "choices" else "a string that is not empty"
    texts = value if name == "choices" else [value]
    if not isinstance(texts, list) or not all(isinstance(t, str) and t.strip() for t in texts):
        raise _damaged(path, number, name, f"must be {what}")


def _damaged(path: Path, number: int, field: str, what: str) -> SetupError:
    """An error at one field. number: of the entry, counted from 1."""
    return SetupError(f"{path}, freedom {number}: field {field}: {what}")
