"""Wrong text, FINs and flights: RFC 9293 sections 3.4 to 3.8, RFC 5681."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.options import Offer
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, FIN, PSH, Segment
from scapy_tfo.tcp_mutants.headers import TALK, Dressed

FLIGHT = "TCP-RTO-15.a-flight-that-nobody-acknowledges"
DUPLICATES = "TCP-FR-1.three-duplicate-acknowledgements"
BEHIND_A_FIN = "TCP-FR-1.duplicate-acknowledgements-behind-a-fin"
LOST = "TCP-RTO-8.a-handshake-that-is-lost-twice"
CLOSES = "TCP-TW-1.a-fin-that-comes-again-in-time-wait"


@tcp_mutant("text-changes", FLIGHT)
class OtherBytesAgain(SendSide):
    """Text that is sent again has other bytes."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if chunk is None or not seq.before(chunk.seq, self.nxt):
            return chunk
        return replace(chunk, payload=bytes(byte ^ 1 for byte in chunk.payload))


@tcp_mutant("text-behind-fin", CLOSES)
class TextBehindTheFin(Dressed):
    """A segment of text follows the FIN."""

    def dress(self, segment: Segment) -> Segment:
        if segment.is_fin:
            Stack.send(self, segment)
            return replace(segment, seq=segment.end, flags=ACK | PSH, payload=b"more")
        return segment


@tcp_mutant("fin-moves", CLOSES)
class SecondFin(Dressed):
    """A second FIN follows the first, one number later."""

    def dress(self, segment: Segment) -> Segment:
        if segment.is_fin:
            Stack.send(self, segment)
            return replace(segment, seq=segment.end, flags=FIN | ACK, payload=b"")
        return segment


@tcp_mutant("over-the-window", "TCP-WS-3.a-shift-of-fifteen")
class ShiftsByFifteen(PassiveConnection):
    """A shift of 15 is used as it is."""

    def agree(self, offer: object) -> None:
        super().agree(offer)  # type: ignore[arg-type]
        if self.send.shift == 14:
            self.send.shift = 15


@tcp_mutant("over-the-mss", "TCP-MSS-4.a-small-segment-size")
class LongSegments(PassiveConnection):
    """Segments are a hundred bytes longer than the MSS of the peer."""

    def resize(self) -> None:
        super().resize()
        self.send.mss += 100


class DressedAck(Dressed):
    """Changes its ACKs without text."""

    def empty(self, segment: Segment) -> Segment:
        """An ACK as it goes out."""
        raise NotImplementedError

    def dress(self, segment: Segment) -> Segment:
        return self.empty(segment) if segment.flags == ACK and not segment.payload else segment


@tcp_mutant("number-before-iss", TALK)
class AcksFromBefore(DressedAck):
    """ACKs have a number from before the connection."""

    def empty(self, segment: Segment) -> Segment:
        return replace(segment, seq=seq.add(segment.seq, -100_000))


@tcp_mutant("number-beyond-text", TALK)
class AcksFromBeyond(DressedAck):
    """ACKs have a number that no text ever reached."""

    def empty(self, segment: Segment) -> Segment:
        return replace(segment, seq=seq.add(segment.seq, 1 << 20))


@tcp_mutant("text-leaves-a-gap", TALK)
class LeavesANumberOut(Dressed):
    """The text of a segment begins one number too late."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, seq=seq.add(segment.seq, 1)) if segment.payload else segment


@tcp_mutant("initial-window", DUPLICATES, settings=Settings(initial_window=20))
class BeginsWithTwenty(Stack):
    """Twenty segments go out before any is acknowledged."""


@tcp_mutant("fin-again", "TCP-FIN-8.text-behind-the-fin-of-the-target")
class FinForEver(PassiveConnection):
    """A FIN that is acknowledged comes again with each ACK."""

    def send_ack(self, now: float) -> None:
        if self.send.fin_acked:
            self.transmit(seq.add(self.send.nxt, -1), FIN | ACK, now)
        else:
            super().send_ack(now)


@tcp_mutant("window-after-lost-handshake", LOST)
class FullWindowAfterALostHandshake(SendSide):
    """After a lost handshake the initial window is the usual one."""

    def window_after_lost_handshake(self) -> int:
        return self.initial_window()


@tcp_mutant("flight-too-large", DUPLICATES)
class GrowsTenfold(SendSide):
    """Each ACK opens the congestion window by ten segments."""

    def acknowledged(self, ack: int, now: float) -> bool:
        again = super().acknowledged(ack, now)
        self.cwnd += 10 * self.mss
        return again


@tcp_mutant("no-fast-retransmit", BEHIND_A_FIN)
class CountsNoDuplicatesOfTheClosed(PassiveConnection):
    """Duplicate ACKs of a client that has closed are not counted."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.recv.finished and segment.ack == self.send.una:
            return True
        return super().ack_arrives(segment, start, now)


@tcp_mutant("no-fast-retransmit", DUPLICATES)
class DeafToDuplicates(SendSide):
    """Duplicate ACKs send nothing again, and open no window."""

    def duplicate(self) -> bool:
        return False


@tcp_mutant("resends-too-soon", DUPLICATES)
class BelievesOneDuplicate(SendSide):
    """The first duplicate ACK sends text again."""

    def duplicate(self) -> bool:
        self._duplicates = 2
        return super().duplicate()


@tcp_mutant("resends-too-soon", "TCP-FR-2.windows-that-grow-while-text-is-under-way")
class CountsWindows(SendSide):
    """An ACK that changes the window counts as a duplicate."""

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        super().update_window(field, segment_seq, ack, scaled=scaled)
        return False


@tcp_mutant("resends-too-soon", "TCP-FR-2.duplicate-acknowledgements-apart")
class CountsOn(SendSide):
    """Duplicate ACKs count on, whatever is acknowledged between them."""

    def acknowledged(self, ack: int, now: float) -> bool:
        before = self._duplicates
        again = super().acknowledged(ack, now)
        self._duplicates = before
        return again


@tcp_mutant("stays-inflated", "TCP-FR-6.a-recovery-of-many-duplicate-acknowledgements")
class NeverDeflates(SendSide):
    """The ACK that ends a recovery leaves the window as duplicate ACKs have opened it."""

    def acknowledged(self, ack: int, now: float) -> bool:
        inflated, was_recovering = self.cwnd, self._recovering
        again = super().acknowledged(ack, now)
        if was_recovering and not self._recovering:
            self.cwnd = inflated
        return again


@tcp_mutant("over-the-default-mss", "TCP-MSS-3.two-connections-that-agreed-on-different-things")
class SizesByTheHost(PassiveConnection):
    """The MSS that a client offers counts for all of its connections."""

    def agree(self, offer: Offer) -> None:
        super().agree(offer)
        for other in self.stack.connections.values():
            if other.remote[0] == self.remote[0]:
                other.mss_offered = self.mss_offered
                other.resize()


@tcp_mutant("rate-kept", "TCP-CC-5.congestion-avoidance")
class KeepsItsRate(SendSide):
    """The threshold after a loss is all that is under way, not half of it."""

    def threshold(self) -> int:
        return max(self.outstanding, 2 * self.mss)


@tcp_mutant("avoidance-too-fast", "TCP-CC-5.congestion-avoidance")
class AddsAnEighth(SendSide):
    """In congestion avoidance each ACK opens the window by an eighth of a segment more."""

    def _grow(self, acked: int) -> None:
        if self.cwnd >= self.ssthresh:
            self.cwnd += self.mss // 8
        super()._grow(acked)


@tcp_mutant("resends-another", DUPLICATES)
class SendsTheNextAgain(PassiveConnection):
    """Duplicate ACKs bring the segment behind the one that they ask for, too."""

    def send_head(self, now: float) -> None:
        chunk, send = self.send.head(), self.send
        start = seq.add(chunk.seq, len(chunk.payload))
        at = seq.distance(send.base, start)
        self.send_chunk(Chunk(start, bytes(send.data[at : at + send.mss]), False), now)
        super().send_head(now)


@tcp_mutant("text-unpushed", "TCP-SEND-3.answers-that-fill-their-segments")
class PushesShortSegments(Dressed):
    """Only segments that are not full have PSH."""

    def dress(self, segment: Segment) -> Segment:
        is_full = len(segment.payload) >= 1400
        return replace(segment, flags=segment.flags & ~PSH) if is_full else segment


@tcp_mutant("fills-small-windows", "TCP-SEND-2.a-window-that-opens-a-little")
class FillsEachWindow(SendSide):
    """Whatever the window lets out is sent."""

    def _worth_sending(self, size: int, left: int, window: int) -> bool:
        return True


@tcp_mutant("into-a-shrunk-window", "TCP-WIN-2.a-window-that-is-taken-back")
class EdgeNeverRetreats(SendSide):
    """A window that shrinks is not believed."""

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        edge = self.right_edge()
        changed = super().update_window(field, segment_seq, ack, scaled=scaled)
        self.wnd += max(seq.distance(seq.add(ack, self.wnd), edge), 0)
        return changed
