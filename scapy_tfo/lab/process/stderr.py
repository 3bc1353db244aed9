"""Keeps the last messages of a child process, in a file without a name."""

from __future__ import annotations

import os
import tempfile

_TAIL = 4096


class Stderr:
    """A file for a child's standard error: nobody has to empty it, and it outlives the child."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self.fd = os.dup(file.fileno())

    def last_words(self, lines: int = 1) -> str:
        """The last lines that are not empty, in one line; "" where there are none."""
        size = os.fstat(self.fd).st_size
        tail = os.pread(self.fd, _TAIL, max(0, size - _TAIL)).decode(errors="replace")
        said = [line.strip() for line in tail.splitlines() if line.strip()]
        return "; ".join(said[-lines:])

    def close(self) -> None:
        os.close(self.fd)
