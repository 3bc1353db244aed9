"""Servers whose application sees one connection twice, though the client notices nothing."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import Accepted, EndOfStream, State
from scapy_tfo.segment import Segment


@mutant("DUP-1")
class DuplicateSynIsHandedOverAgain(PassiveConnection):
    """The SYN again before the ACK hands the connection over a second time."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        super().answer_duplicate(segment, now)
        self.tell(Accepted(self, self.listener))


@mutant("DUP-2")
class SynOnAnOpenConnectionIsHandedOverAgain(PassiveConnection):
    """A SYN on an established connection is challenged, and hands it over a second time."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        super().syn_arrives(segment, now)
        if self.state is State.ESTABLISHED:
            self.tell(Accepted(self, self.listener))


@mutant("ACC-5")
class CookieWithoutDataIsHandedOverTwice(PassiveConnection):
    """A cookie without data hands the connection over early, and again after the ACK."""

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.fast_opened and self.recv.nxt == seq.add(self.recv.irs, 1):
            self.tell(Accepted(self, self.listener))


@mutant("AFT-2")
class EndPastAGapIsToldTwice(PassiveConnection):
    """A FIN that came before the data in front of it is told again when that data has come."""

    early_end = False

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        super().take_text(start, payload, fin)
        if self.recv.finished and self.early_end:
            self.tell(EndOfStream(self))
        self.early_end = fin and not self.recv.finished
