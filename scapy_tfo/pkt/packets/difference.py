"""One difference between a script and what happened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One thing that is not as the script says, each side in words or numbers for people."""

    what: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, got {self.actual}"
