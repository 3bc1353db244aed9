"""The failures that a user expects of a target, with the reason for each."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError
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
        entries = tomllib.loads(path.read_text("utf-8"))["known"]
        known = tuple(
            KnownFailure(str(each["case"]), str(each["reason"]), each.get("family"))
            for each in entries
        )
    except OSError as error:
        raise SetupError(f"known failures: cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(f"known failures: {path} is damaged ({error}); write {_EXAMPLE}") from None
    unknown = {each.case for each in known} - set(cases)
    if unknown:
        raise SetupError(f"known failures: {path} names no such case: {', '.join(sorted(unknown))}")
    return known


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
