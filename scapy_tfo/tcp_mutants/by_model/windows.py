"""Windows misread, and text refused that fits them: RFC 9293 section 3.8.6."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.mutants.registry import rule_mutant
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.segment import Segment

_SIGN = 0x8000
_AFAR = 1 << 30
_ROOM = 8000


@rule_mutant("TCP-MSS-5")
class DropsLargeSegments(PassiveConnection):
    """Text of more than a thousand bytes is dropped where it is no SYN's."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if len(segment.payload) <= 1000:
            super().other_arrives(segment, now)


@rule_mutant("TCP-SEQ-3")
class TakesTextFromAfar(ReceiveSide):
    """Text is kept wherever it lies behind the next number, also far beyond the window."""

    def is_acceptable(self, start: int, length: int) -> bool:
        return super().is_acceptable(start, length) or (length > 0 and seq.before(self.nxt, start))

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        window = self.wnd
        if seq.before(seq.add(self.nxt, window), start):
            self.wnd = _AFAR
        taken = super().take(start, payload, fin)
        self.wnd = window
        return taken


@rule_mutant("TCP-WIN-1")
class WindowsHaveASign(PassiveConnection):
    """A window field of 32,768 and more is taken for none."""

    def arrive(self, segment: Segment, now: float) -> None:
        field = segment.window
        super().arrive(replace(segment, window=0 if field & _SIGN else field), now)


@rule_mutant("TCP-WIN-4")
class ForgetsWhatWaitsWhenTheWindowShrinks(SendSide):
    """Where a window shrinks below what is under way, the text that waits behind that is lost."""

    def set_window(self, window: int) -> bool:
        changed = super().set_window(window)
        if window and seq.before(self.right_edge(), self.nxt):
            del self.data[max(0, seq.distance(self.base, self.nxt)) :]
        return changed


@rule_mutant("TCP-WIN-6")
class SkipsWhatIsUnderWayInAShrunkWindow(SendSide):
    """While a window ends before what is under way, nothing is sent again."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        if self.wnd and seq.before(self.right_edge(), self.nxt):
            return None
        return super().next_chunk(probe=probe)


@rule_mutant("TCP-WIN-7")
class GivesUpBehindAShrunkWindow(PassiveConnection):
    """Where a window ended before what was under way, the second timeout ends the connection."""

    shrunk = False

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        taken = super().ack_arrives(segment, start, now)
        send = self.send
        self.shrunk = self.shrunk or (send.wnd > 0 and seq.before(send.right_edge(), send.nxt))
        return taken

    def retransmit(self, now: float) -> None:
        if self.shrunk and self.send.retries:
            self.abort(now)
        else:
            super().retransmit(now)


@rule_mutant("TCP-WIN-8")
class TakesLessThanItOffers(PassiveConnection):
    """While an application leaves 8,000 bytes unread more text is dropped, which the window had
    room for."""

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if not segment.payload or len(self._unread or b"") < _ROOM:
            super().text_arrives(segment, start, now)


@rule_mutant("TCP-WIN-12")
class TakesWindowsOfOldSegments(SendSide):
    """The window of any segment counts, also of one that an older one overtook."""

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        return self.set_window(field << self.shift if scaled else field)
