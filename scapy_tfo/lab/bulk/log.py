"""Reads from the kernel's log the faults that this kernel reports while it is a target."""

from __future__ import annotations

import contextlib
import os

ALARMS = ("BUG:", "WARNING:", "Oops", "general protection", "Kernel panic", "UBSAN:", "KASAN:")
"""What a line has in it when the kernel has found a fault of its own."""

_KMSG = "/dev/kmsg"
_LARGEST = 8192
_MOST = 10_000
"""Lines read at once: others write there, too."""


class KernelLog:
    """The lines that come from now on; none where this process may not read them."""

    def __init__(self, path: str = _KMSG) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)

    @property
    def is_readable(self) -> bool:
        return self._fd >= 0

    def alarms(self) -> list[str]:
        """New lines that tell of a fault, without the log's own fields."""
        found = []
        for _ in range(_MOST if self.is_readable else 0):
            try:
                record = os.read(self._fd, _LARGEST)
            except BrokenPipeError:
                # Lines were written over before they were read; those that are left follow.
                continue
            except OSError:
                break
            if not record:
                break
            for line in record.decode(errors="replace").splitlines():
                text = line.partition(";")[2]
                if any(each in text for each in ALARMS):
                    found.append(text)
        return found

    def close(self) -> None:
        """Harmless when called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
