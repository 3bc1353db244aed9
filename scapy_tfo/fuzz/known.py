"""The findings that a user knows of, in a TOML file of the user's own repository."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.findings import Finding, Status, finding_id
from scapy_tfo.fuzz.program import Program, ProgramError, dumps, loads
from scapy_tfo.fuzz.verdict import Signature

UNEXPLAINED = "not looked into yet"
"""Reason of an entry that nobody has edited."""

_HEAD = """\
# Known findings of `scapy-tfo fuzz`: a run fails for others only. Say in `reason` why each is one;
# `--update-known` adds what is new, and drops what does not happen any more.
"""
_EXAMPLE = "[[known]] with requirement, state, reply, rule, reason and program"


@dataclass(frozen=True, slots=True)
class Known:
    """signature, rule: of the finding. reason: why it is known. program: the reduced one, to see
    whether it still happens."""

    signature: Signature
    rule: str
    reason: str
    program: Program

    @property
    def id(self) -> str:
        return finding_id(self.signature)


def load_known(path: Path) -> tuple[Known, ...]:
    """Read a list of known findings. Raises SetupError where it cannot be read, or is damaged."""
    try:
        entries = tomllib.loads(path.read_text("utf-8")).get("known", [])
        return tuple(
            Known(
                (str(each["requirement"]), str(each["state"]), str(each["reply"])),
                str(each["rule"]),
                str(each["reason"]),
                loads(each["program"]),
            )
            for each in entries
        )
    except OSError as error:
        raise SetupError(f"known findings: cannot read {path}: {error.strerror}") from error
    except KeyError as error:
        raise SetupError(
            f"known findings: {path} is damaged (no {error}); write {_EXAMPLE}"
        ) from None
    except (ValueError, TypeError, AttributeError, ProgramError) as error:
        raise SetupError(f"known findings: {path} is damaged ({error}); write {_EXAMPLE}") from None


def write_known(path: Path, known: Iterable[Known]) -> None:
    """Write the list, in the order of ids. Raises SetupError where that fails."""
    parts = [_HEAD]
    for each in sorted(known, key=lambda each: each.id):
        requirement, state, reply = each.signature
        fields = {
            "id": each.id,
            "requirement": requirement,
            "state": state,
            "reply": reply,
            "rule": each.rule,
            "reason": each.reason,
            "program": dumps(each.program),
        }
        lines = [f"{name} = {_quoted(value)}" for name, value in fields.items()]
        parts.append("\n".join(["[[known]]", *lines, ""]))
    try:
        path.write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"known findings: cannot write {path}: {error.strerror}") from error


def new_ones(findings: Iterable[Finding], known: Iterable[Known]) -> list[Finding]:
    """The confirmed findings that the list lacks."""
    ids = {each.id for each in known}
    return [each for each in findings if each.status is Status.CONFIRMED and each.id not in ids]


def unseen(findings: Iterable[Finding], known: Iterable[Known]) -> list[Known]:
    """What the list has and this campaign has not come across."""
    ids = {each.id for each in findings if each.status is Status.CONFIRMED}
    return [each for each in known if each.id not in ids]


def updated(known: Iterable[Known], gone: Iterable[Known], new: Iterable[Finding]) -> list[Known]:
    """The list with what is new, without what is gone; reasons stay."""
    dropped = {each.id for each in gone}
    kept = [each for each in known if each.id not in dropped]
    return kept + [Known(each.signature, each.rule, UNEXPLAINED, each.reduced) for each in new]


def _quoted(text: str) -> str:
    """As a basic string of TOML, whose escapes are those of JSON but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
