"""Keeps each result of a run as soon as it is there, so that no end of the run can lose it."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from scapy_tfo.errors import SetupError

NAME = "journal.jsonl"

_SYNC = 1.0
"""Seconds of results that a machine which fails may lose: to wait for the disk at each holds up the
packets of all other cases."""


class Journal:
    """A file in a run's directory with one line of JSON for each result, which outlives this
    process before the run goes on.

    place: makes the directory; called with the first result; None for no journal. A line that
    cannot be written is told once, and the run goes on without a journal: its verdicts are worth
    more.
    """

    def __init__(self, place: Callable[[], Path] | None) -> None:
        self._place = place
        self._file: TextIO | None = None
        self._is_broken = False
        self._synced = -math.inf

    def add(self, record: dict[str, Any]) -> None:
        """Write a line."""
        if self._place is None or self._is_broken:
            return
        try:
            if self._file is None:
                self._file = _new(self._place() / NAME)
            self._file.write(json.dumps(record, allow_nan=False) + "\n")
            self._file.flush()
            if (now := time.monotonic()) >= self._synced + _SYNC:
                os.fdatasync(self._file.fileno())
                self._synced = now
        except (OSError, SetupError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self._is_broken = True
            if self._file is not None:
                # What it holds back would be tried, and told, once more when it is collected.
                with suppress(OSError):
                    self._file.close()
            print(f"scapy-tfo: results are not kept while the run lasts: {why}", file=sys.stderr)

    def close(self, *, drop: bool) -> None:
        """drop: remove the file, since reports hold the same."""
        if self._file is None:
            return
        try:
            self._file.close()
            if drop:
                Path(self._file.name).unlink(missing_ok=True)
        except OSError:
            # What could not be written was told.
            return
        finally:
            self._file = None


def _new(path: Path) -> TextIO:
    """A file of ours, whatever stood there before, a link included. Raises OSError."""
    path.unlink(missing_ok=True)
    return path.open("x", encoding="utf-8")
