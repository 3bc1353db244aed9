"""What a target executes of its own code, as it tells in shared memory.

A stack that was built with a compiler's coverage calls a function at each branch
(SanitizerCoverage: `-fsanitize-coverage=trace-pc` of gcc, or `trace-pc-guard` of clang). The one
in docs/stacks/coverage.c counts pairs of branches that follow each other in a file that the
environment names: as in AFL, a pair is a byte whose place is a hash of both.
"""

from __future__ import annotations

import mmap
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

VARIABLE = "SCAPY_TFO_COVERAGE"
"""Of the environment: the file that the target counts in."""

TARGET = "~"
"""What names of the target's own coverage begin with."""

SIZE = 1 << 16
"""Bytes of the map: one for each pair of branches, by its hash."""

_MAGIC = b"TFO-COV1"
_HEAD = 16
"""Bytes before the map, of which the target writes `_MAGIC` when it begins."""

_NOTHING = bytes(SIZE)
_SET = re.compile(rb"[^\0]")

_CLASSES = (1, 2, 3, 4, 8, 16, 32, 128)
"""Counts from which on a pair counts as another one (AFL's classes)."""


class TargetMap:
    """The map of one target, which we make and it writes. path: of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _HEAD + SIZE)

    @classmethod
    def make(cls) -> Self:
        """A new map, in memory where there is a file system for that. Raises OSError."""
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        descriptor, name = tempfile.mkstemp(prefix="scapy-tfo-coverage-", dir=place)
        with os.fdopen(descriptor, "wb") as file:
            file.truncate(_HEAD + SIZE)
        return cls(Path(name))

    @property
    def is_used(self) -> bool:
        """Whether the target writes it: one that was not built so does not know of it."""
        return self._map[: len(_MAGIC)] == _MAGIC

    def take(self) -> frozenset[str]:
        """What was executed since the last call, each pair of branches with the class of its
        count."""
        counts = self._map[_HEAD:]
        if counts == _NOTHING:
            return frozenset()
        self._map[_HEAD:] = _NOTHING
        # Of 64 KiB a few hundred bytes are set: they are looked for by compiled code.
        return frozenset(
            f"{TARGET}{each.start():x}.{class_of(counts[each.start()])}"
            for each in _SET.finditer(counts)
        )

    def close(self) -> None:
        """Give the file back. Harmless when called twice."""
        self._map.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def class_of(count: int) -> int:
    """The number of the class that a count is in, from 1 on (as in AFL)."""
    return sum(count >= least for least in _CLASSES)
