"""The failures that a user expects of a target, with the reason for each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.shape import ShapeError, sentence, tables, text_of
from scapy_tfo.suite.result import Result, Verdict

_EXAMPLE = '[[known]] with case = "ACC-2.name", reason = "why", and family = 4 or 6 if it matters'


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """case: id of a case. reason: why it is expected to fail. family: 4, 6, or None for both."""

    case: str
    reason: str
    family: int | None = None

    def covers(self, result: Result) -> bool:
        return self.case == result.case and self.family in (None, result.family)


def load_known(path: Path, cases: Iterable[str]) -> tuple[KnownFailure, ...]:
    """Read a list of known failures; `cases` are the ids that exist.

    Raises SetupError for a file that cannot be read or says something else.
    """
    try:
        entries = tables(path.read_text("utf-8"), "known")
        known = tuple(_entry(each, f"known {number}") for number, each in enumerate(entries, 1))
    except OSError as error:
        raise SetupError(f"cannot read the known failures in {path}: {error.strerror}") from error
    except ValueError as error:
        raise SetupError(
            f"cannot read the known failures in {path}: {sentence(error)}; write {_EXAMPLE}"
        ) from None
    if not known:
        raise SetupError(f"cannot read the known failures in {path}: it has none; write {_EXAMPLE}")
    exist = set(cases)
    unknown = {each.case for each in known} - exist
    if unknown:
        raise SetupError(
            f"the known failures in {path} name cases that do not exist: "
            f"{', '.join(sorted(unknown))} ('scapy-tfo list' prints the cases)"
            + did_you_mean(min(unknown), exist)
        )
    return known


def _entry(entry: Mapping[str, Any], where: str) -> KnownFailure:
    case, reason = (text_of(entry, field, where) for field in ("case", "reason"))
    family = entry.get("family")
    if family not in (None, 4, 6) or isinstance(family, float):
        raise ShapeError(f"the 'family' of {where} is not 4 or 6")
    return KnownFailure(case, reason, family)


def mark_known(results: Iterable[Result], known: Iterable[KnownFailure]) -> tuple[Result, ...]:
    """The results with the reason of the list beside each one that failed, or passed after all."""
    listed = tuple(known)
    marked = []
    for result in results:
        entry = next((each for each in listed if each.covers(result)), None)
        if entry and result.verdict in (Verdict.FAIL, Verdict.PASS):
            result = dataclasses.replace(result, known=entry.reason)
        marked.append(result)
    return tuple(marked)
