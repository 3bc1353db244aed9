"""Reads the known findings of explorations, a TOML file in the user's own repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.explorer import Found
from scapy_tfo.shape import sentence, tables, text_of

_EXAMPLE = "[[explored]] with cause and reason"


@dataclass(frozen=True, slots=True)
class Known:
    """cause: of the finding, as the run told it; with "*" behind a comma, whatever wrong segment
    shows it. reason: why it is known."""

    cause: str
    reason: str

    def covers(self, cause: str) -> bool:
        """Whether it is this one."""
        rule, comma, wrong = self.cause.partition(", ")
        if comma and wrong == "*":
            return cause.partition(", ")[0] == rule
        return cause == self.cause


def load_known(path: Path) -> tuple[Known, ...]:
    """The [[explored]] tables of a list of known findings. Raises SetupError where it cannot be
    read, or is damaged."""
    try:
        entries = tables(path.read_text("utf-8"), "explored")
        return tuple(
            Known(*(text_of(each, field, f"explored {number}") for field in ("cause", "reason")))
            for number, each in enumerate(entries, 1)
        )
    except OSError as error:
        raise SetupError(f"cannot read the known findings in {path}: {error.strerror}") from error
    except ValueError as error:
        raise SetupError(
            f"cannot read the known findings in {path}: {sentence(error)}; write {_EXAMPLE}"
        ) from None


def new_ones(found: Mapping[str, Found], known: Iterable[Known]) -> dict[str, Found]:
    """The findings that the list lacks, by cause."""
    known = list(known)
    return {
        cause: each
        for cause, each in found.items()
        if not any(entry.covers(cause) for entry in known)
    }
