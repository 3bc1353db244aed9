"""Servers that put the stream together wrongly (RFC 9293 sections 3.4 and 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.settings import Settings


@mutant("AFT-1", also=("ACC-9",))
class DropsWhatComesEarly(ReceiveSide):
    """Data past a gap is dropped, yet acknowledged once the gap is filled."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if payload and seq.before(self.nxt, start):
            self._held.append((start, b""))
            self.lost = seq.add(start, len(payload))
            return b""
        data = super().take(start, payload, fin)
        lost = getattr(self, "lost", None)
        if data and lost is not None and self._held == [] and seq.before(self.nxt, lost):
            self.nxt = lost
        return data


@mutant("AFT-1", also=("ACC-9",))
class DeliversWhatComesEarly(ReceiveSide):
    """Data past a gap is delivered at once, before what belongs in front of it."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if payload and seq.before(self.nxt, start):
            return payload
        return super().take(start, payload, fin)


@mutant("ACC-11")
class WindowEndsAtZero(ReceiveSide):
    """The receive window does not wrap: what lies past zero is outside."""

    def holds(self, number: int) -> bool:
        return self.nxt <= number < self.nxt + self.wnd


@mutant("ACC-11")
class DropsNewDataAcrossZero(ReceiveSide):
    """Where data from before zero is sent again, new data behind it is dropped."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if payload and start > self.nxt and seq.before(start, self.nxt):
            return b""
        return super().take(start, payload, fin)


@mutant("AFT-2")
class FinTakesNoNumber(ReceiveSide):
    """The acknowledgement of a FIN covers the data before it, not the FIN."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        before = self.finished
        data = super().take(start, payload, fin)
        if self.finished and not before:
            self.nxt = seq.add(self.nxt, -1)
        return data


@mutant("AFT-2")
class FinPastAGapEndsTheStream(ReceiveSide):
    """A FIN that comes before the data in front of it ends the stream at once."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        data = super().take(start, payload, fin)
        if fin and seq.before(self.nxt, start):
            self.nxt = seq.add(start, len(payload) + 1)
            self.finished = True
        return data


@mutant("AFT-2")
class FinPastAGapIsForgotten(ReceiveSide):
    """A FIN that comes before the data in front of it is acknowledged with that, and not told."""

    forgotten: int | None = None

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        is_early = fin and seq.before(self.nxt, start)
        if is_early:
            self.forgotten = seq.add(start, len(payload))
        data = super().take(start, payload, fin and not is_early)
        if self.nxt == self.forgotten:
            self.nxt = seq.add(self.nxt, 1)
        return data


@mutant("AFT-2")
class FinStaysWhereItsTextIsCut(ReceiveSide):
    """Text behind the window is cut off, and its FIN is taken for the end of what is left."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        room = seq.distance(start, seq.add(self.nxt, self.wnd))
        if fin and 0 < room <= len(payload):
            payload = payload[: room - 1]
        return super().take(start, payload, fin)


@mutant("ACC-11", settings=Settings(sack=False))
class StopsAtZeroUntilMoreComes(ReceiveSide):
    """What waits behind zero is handed over when the next segment comes."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        behind = [each for each in self._held if each[0] < self.nxt]
        if behind and payload and seq.at_most(start, self.nxt):
            self._held = [each for each in self._held if each not in behind]
            data = super().take(start, payload, fin)
            self._held += behind
            return data
        return super().take(start, payload, fin)
