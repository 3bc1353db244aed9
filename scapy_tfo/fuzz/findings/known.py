"""Reads and writes the known findings, a TOML file in the user's own repository."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.findings.finding import Finding, Status, finding_id
from scapy_tfo.oracle.parts.violation import Signature
from scapy_tfo.program.program import Program, ProgramError, dumps, loads
from scapy_tfo.shape import ShapeError, sentence, tables, text_of

UNEXPLAINED = "not looked into yet"
"""Reason of an entry that nobody has edited."""
EACH = "*"
"""State, reply or cookie of an entry that stands for every one: programs come upon one fault in
several states."""

_HEAD = """\
# Known findings of `scapy-tfo fuzz`: a run fails only for others. Say in `reason` why each is
# known; `--update-known` adds new findings, and drops those that no longer happen.
"""
_EXAMPLE = "[[known]] with requirement, state, reply, rule, reason and program"


@dataclass(frozen=True, slots=True)
class Known:
    """signature, rule: of the finding; behind its requirement, a signature has `EACH` where it
    stands for each. reason: why it is known. program: the reduced one, to see whether it still
    happens."""

    signature: Signature
    rule: str
    reason: str
    program: Program

    @property
    def id(self) -> str:
        return finding_id(self.signature)

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is the one that is known."""
        _, *kinds = self.signature
        if EACH not in kinds:
            return finding.id == self.id
        if (finding.signature[0], finding.rule) != (self.signature[0], self.rule):
            return False
        return all(
            mine in (EACH, theirs)
            for mine, theirs in zip(kinds, finding.signature[1:], strict=True)
        )


def load_known(path: Path) -> tuple[Known, ...]:
    """Read a list of known findings. Raises SetupError where it cannot be read, or is damaged."""
    try:
        entries = tables(path.read_text("utf-8"), "known")
        return tuple(_entry(each, f"known {number}") for number, each in enumerate(entries, 1))
    except OSError as error:
        raise SetupError(f"cannot read the known findings in {path}: {error.strerror}") from error
    except ValueError as error:
        raise SetupError(
            f"cannot read the known findings in {path}: {sentence(error)}; write {_EXAMPLE}"
        ) from None


def _entry(entry: Mapping[str, Any], where: str) -> Known:
    requirement, state, reply, rule, reason, program = (
        text_of(entry, field, where)
        for field in ("requirement", "state", "reply", "rule", "reason", "program")
    )
    try:
        cookie = text_of({"cookie": "", **entry}, "cookie", where)
        return Known((requirement, state, reply, cookie), rule, reason, loads(program))
    except ProgramError as error:
        raise ShapeError(f"the 'program' of {where} is none: {error}") from None


def write_known(path: Path, known: Iterable[Known]) -> None:
    """Write the list, in the order of ids. Raises SetupError where that fails."""
    parts = [_HEAD]
    for each in sorted(known, key=lambda each: each.id):
        requirement, state, reply, cookie = each.signature
        fields = {
            "id": each.id,
            "requirement": requirement,
            "state": state,
            "reply": reply,
            **({"cookie": cookie} if cookie else {}),
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
    known = list(known)
    confirmed = [each for each in findings if each.status is Status.CONFIRMED]
    return [each for each in confirmed if not any(entry.covers(each) for entry in known)]


def unseen(findings: Iterable[Finding], known: Iterable[Known]) -> list[Known]:
    """What the list has and this campaign has not come across."""
    confirmed = [each for each in findings if each.status is Status.CONFIRMED]
    return [each for each in known if not any(map(each.covers, confirmed))]


def updated(known: Iterable[Known], gone: Iterable[Known], new: Iterable[Finding]) -> list[Known]:
    """The list with what is new, without what is gone; reasons stay."""
    dropped = {each.id for each in gone}
    kept = [each for each in known if each.id not in dropped]
    return kept + [Known(each.signature, each.rule, UNEXPLAINED, each.reduced) for each in new]


def _quoted(text: str) -> str:
    """As a basic string of TOML, whose escapes are those of JSON, but which knows no surrogates;
    nothing in it acts on the terminal of who looks at the file."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    shown = json.dumps(whole, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in shown)
