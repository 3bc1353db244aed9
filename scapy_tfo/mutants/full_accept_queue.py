"""Servers that lose what finds no room among the connections that wait to be accepted."""

from __future__ import annotations

from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.segment import Segment


@mutant("ACC-9")
class NeverHandsOverWithoutRoom(Listener):
    """The application never hears of a fast open that finds the accept queue full."""

    _room: int | None = None

    def syn_arrives(self, segment: Segment, now: float) -> None:
        self._room, self.queue.limit = self.queue.limit, None
        super().syn_arrives(segment, now)
        self.queue.limit, self._room = self._room, None

    def hand_over(self, connection: PassiveConnection) -> None:
        if self._room is None or len(self.queue.waiting or ()) < self._room:
            super().hand_over(connection)


@mutant("ACC-9")
class NeverEndsHandshakesThatFoundNoRoom(PassiveConnection):
    """A handshake whose ACK found the accept queue full never ends, whatever comes later."""

    _found_none = False

    def may_establish(self, now: float) -> bool:
        self._found_none = self._found_none or not super().may_establish(now)
        return not self._found_none


@mutant("AFT-11")
class ClosesAndKeepsWhatWaits(Listener):
    """A listener that closes keeps what was not accepted: it acknowledges, and nobody reads."""

    def close(self, now: float) -> None:
        self.queue.waiting = None
        super().close(now)
