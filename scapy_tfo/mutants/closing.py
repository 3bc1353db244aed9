"""Servers that lose an application's writes or close before the ACK has come (RFC 9293 3.10.4)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import Closed, State
from scapy_tfo.segment import ACK, RST, Segment


@mutant("AFT-3", bug="BSD-02")
class SecondWriteLosesItsFirstByte(PassiveConnection):
    """The first byte of a second write before the ACK is lost."""

    def write(self, data: bytes, now: float) -> None:
        second = self.state is State.SYN_RCVD and bool(self.send.data)
        super().write(data[second:], now)


@mutant("AFT-3")
class SecondWriteIsLost(PassiveConnection):
    """Before the ACK one write is taken, and every further one is lost."""

    def write(self, data: bytes, now: float) -> None:
        if self.state is not State.SYN_RCVD or not self.send.data:
            super().write(data, now)


@mutant("AFT-3")
class CloseInSynRcvdIsForgotten(PassiveConnection):
    """A close before the ACK sends no FIN, then or later."""

    def close(self, now: float) -> None:
        if self.state is not State.SYN_RCVD:
            super().close(now)


@mutant("AFT-3")
class CloseInSynRcvdResets(PassiveConnection):
    """A close before the ACK resets the connection."""

    def close(self, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.abort(now)
        else:
            super().close(now)


@mutant("AFT-3")
class CloseInSynRcvdDropsTheUnsent(PassiveConnection):
    """A close before the ACK drops what the initial window held back."""

    def close(self, now: float) -> None:
        if self.state is State.SYN_RCVD:
            del self.send.data[seq.distance(self.send.base, self.send.nxt) :]
        super().close(now)


@mutant("AFT-3", also=("AFT-10",))
class CloseInSynRcvdForgetsTheConnection(PassiveConnection):
    """A close before the ACK forgets the connection: the ACK is answered with RST."""

    def close(self, now: float) -> None:
        super().close(now)
        if self.state is State.SYN_RCVD:
            self.drop()


@mutant("AFT-3")
class FinFromBeforeTheAckIsNotResent(SendSide):
    """A FIN that was sent before the ACK of the handshake and lost is not sent again."""

    early_fin = False

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        super().sent(chunk, now, timed=timed)
        self.early_fin = self.early_fin or (chunk.fin and not timed)

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if chunk and chunk.fin and self.early_fin:
            return Chunk(chunk.seq, chunk.payload, False) if chunk.payload else None
        return chunk


@mutant("AFT-3")
class EarlyDataIsNotResent(SendSide):
    """Data that was sent before the ACK of the handshake and lost is not sent again."""

    early = 0

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        super().sent(chunk, now, timed=timed)
        if not timed:
            self.early = max(self.early, seq.distance(self.iss, self.nxt))

    def rewind(self) -> None:
        super().rewind()
        if seq.distance(self.iss, self.point) < self.early:
            self.point = seq.add(self.iss, self.early)


@mutant("AFT-3", also=("AFT-11",), settings=Settings(data_retries=1))
class GivesUpAfterTwoTimeouts(PassiveConnection):
    """The second timeout of data ends the connection."""


@mutant("AFT-3")
class NoTimerForEarlyData(PassiveConnection):
    """Data sent before the ACK has no retransmission timer once the handshake is over."""

    early_end: int | None = None

    def establish(self, now: float) -> None:
        super().establish(now)
        self.early_end = self.send.nxt

    def retransmit(self, now: float) -> None:
        if self.early_end is not None and seq.before(self.send.una, self.early_end):
            self.send.timer = None
            return
        super().retransmit(now)


@mutant("AFT-3")
class LostSynAckLosesTheFin(PassiveConnection):
    """Once the SYN-ACK was sent again, a close from before the ACK is forgotten."""

    def establish(self, now: float) -> None:
        if self.handshake_retries:
            self.send.fin_queued = False
        super().establish(now)


@mutant("AFT-3")
class LostSynAckLosesTheAnswer(PassiveConnection):
    """Once the SYN-ACK was sent again, early data counts as arrived."""

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.handshake_retries:
            self.send.point = self.send.nxt
            self.send.acknowledged(self.send.nxt, now)


@mutant("AFT-3")
class FinOvertakesTheData(SendSide):
    """FIN goes out with the next data after a close, before the rest of what was written."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if chunk and self.fin_queued and chunk.payload:
            return Chunk(chunk.seq, chunk.payload, True)
        return chunk


@mutant("AFT-3")
class FinIsNotCountedAsSent(PassiveConnection):
    """An acknowledgement of a FIN from before the ACK is taken for one of what was not sent."""

    def completes_handshake(self, ack: int) -> bool:
        return super().completes_handshake(ack) and seq.at_most(ack, self.send.end)


@mutant("AFT-3")
class CrossingFinsStopTheTimer(PassiveConnection):
    """Once both sides have sent FIN nothing is sent again, acknowledged or not."""

    def settle(self, now: float) -> None:
        super().settle(now)
        if self.state is State.CLOSING:
            self.state = State.TIME_WAIT
            self.send.timer = None
            self._tell_last(Closed(self))
            if self.time_wait_timer is None:
                self.time_wait_timer = now + 2 * self.settings.msl

    def retransmit(self, now: float) -> None:
        if self.state is State.TIME_WAIT:
            self.send.timer = None
        else:
            super().retransmit(now)

    def send_head(self, now: float) -> None:
        if self.state is not State.TIME_WAIT:
            super().send_head(now)


@mutant("AFT-3")
class EarlyAbortResetsBehindTheSyn(PassiveConnection):
    """An abort before the ACK sends its RST at ISS + 1, whatever was sent by then."""

    def transmit(
        self,
        number: int,
        flags: int,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        if flags == RST | ACK and self.state is State.SYN_RCVD:
            number = seq.add(self.send.iss, 1)
        super().transmit(number, flags, now, payload, raw_options)


@mutant("AFT-2", settings=Settings(time_wait=60.0))
class FinAgainStartsTimeWait(PassiveConnection):
    """A FIN that comes again starts the timer of TIME-WAIT, in whatever state."""

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        super().unacceptable_arrives(segment, now)
        if segment.is_fin:
            self.time_wait_timer = now + self.settings.time_wait_length
