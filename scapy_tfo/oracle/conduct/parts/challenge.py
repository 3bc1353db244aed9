"""Whether the judged end has said that it does not believe a RST (RFC 5961 section 3.2)."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.parts.oddity import Oddity

_LATEST_ACK = 0.55
"""Seconds after which no ACK of what came before is on its way (RFC 9293 section 3.8.6.3)."""


class Challenge:
    """came: after a silence the peer sent a RST in the window, but not at the next number, all of
    its text being acknowledged by then, and an ACK came that says nothing else."""

    __slots__ = ("_waits", "came")

    def __init__(self) -> None:
        self.came = False
        self._waits = False

    def sent(self, odd: Oddity | None, *, plain: bool, rest: float) -> None:
        """The peer sent a segment. odd: the one thing in which it is not plain. plain: it is plain.
        rest: seconds for which the peer had been silent."""
        if not plain:
            self._waits = odd is Oddity.RESET and rest > _LATEST_ACK
            self.came = False

    def heard(self, *, empty: bool) -> None:
        """A segment of the judged end came. empty: it says nothing new."""
        self.came = self.came or (self._waits and empty)
