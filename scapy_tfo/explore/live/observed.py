"""The target's application as it can be seen from outside, and by what its session tells."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.explore.ends.actor import Actor, Clock, pattern
from scapy_tfo.lab.hooks import Session

_ECHOES = ("echo", "think", "late-accept", "late-close", "slow-reader", "send")
_DELAYED = ("think", "late-accept", "late-close")
"""Their number is a time."""
_AT_ONCE = ("send-close", "two-sends", "half-close")
_CLOSES = ("send-close", "two-sends", "abort", "send-abort")
_RESTS = ("slow-reader", "late-accept", "never-reads")


class Observed(Actor):
    """An application that runs elsewhere. spec: as in `actors`.

    While the conversation goes on, it counts as there once the handshake has ended, and as one that
    reads or not by what its kind does. Afterwards it is what its session says.
    """

    def __init__(self, spec: str, clock: Clock) -> None:
        super().__init__(clock)
        self._name, _, number = spec.partition(":")
        self._size = int(number or 0)
        # What is due at once from an application that reads is not due from one that may not.
        self.reading = self._name not in _RESTS
        self.done = self._name in _CLOSES

    def seen(self, sessions: Sequence[Session]) -> None:
        """Take what the target's sessions of this client say, the first one's before all."""
        self.accepted = len(sessions)
        self.done = self.ended = False
        self.reading = self._name != "never-reads"
        if not sessions:
            return
        first = sessions[0]
        self.received = bytearray(first.received)
        self.eof = first.eof
        self.error = first.error or None
        self.done = self.ended = first.closed
        self._finish()

    def guessed(self, acked: bytes, *, ended: bool, whole: bool) -> None:
        """Take for granted that it got what the target acknowledged. ended: the connection has.
        whole: the target acknowledged all that was written, else nobody knows of the end of it."""
        self.accepted = 1
        self.reading = self._name != "never-reads"
        self.received = bytearray(acked)
        self.done = self.ended = ended
        self.eof = int(ended and whole)
        self._finish()

    def _finish(self) -> None:
        """What follows from its kind."""
        self.had = len(self.received)
        self.aborted = self._name in ("abort", "send-abort")
        # Who reads the end of the stream ends its own.
        self.finished = self.done or bool(self.eof) or self._name in _AT_ONCE
        is_silent = self._name in _RESTS or self._name in _DELAYED
        said = b"" if is_silent else pattern(self._size)
        if self._name == "two-sends":
            said *= 2
        echo = bytes(self.received) if self._name in _ECHOES else b""
        self.wrote = bytearray(said + echo)
