"""Ends the processes of scripts when their runner cannot."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from collections.abc import Callable

from scapy_tfo.lab.process.forking import signals_held_back

_NUMBER = struct.Struct("i")


class Guard:
    """A process that outlives this one, however it ends, and then ends what is left of scripts:
    what a command has left in the background dies with nobody by itself."""

    def __init__(self) -> None:
        listens, self._tells = os.pipe()
        with signals_held_back() as let_through:
            self._pid = os.fork()
            if not self._pid:
                os.close(self._tells)
                _stand_by(listens, let_through)
        os.close(listens)

    def watch(self, group: int) -> None:
        """A process group that is to end."""
        os.write(self._tells, _NUMBER.pack(group))

    def forget(self, group: int) -> None:
        """It has ended."""
        os.write(self._tells, _NUMBER.pack(-group))

    def close(self) -> None:
        """Nothing is left."""
        os.close(self._tells)
        os.waitpid(self._pid, 0)


def _stand_by(listens: int, let_through: Callable[[], None]) -> None:
    """Never returns."""
    try:
        os.setsid()
        let_through()
        groups: set[int] = set()
        while message := os.read(listens, _NUMBER.size):
            (number,) = _NUMBER.unpack(message)
            if number > 0:
                groups.add(number)
            else:
                groups.discard(-number)
        for group in groups:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
    finally:
        os._exit(0)
