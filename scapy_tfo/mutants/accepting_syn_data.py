"""Servers that accept a SYN's data and lose count of it (RFC 7413 4.2.2, RFC 9293 3.4)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.core import Core
from scapy_tfo.reference.parts.pending import Ticket
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import Decision, Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import PSH, Segment


class _AcksAnotherNumber(PassiveConnection):
    """A connection whose SYN-ACK of a fast open is off by some bytes."""

    def off(self) -> int:
        """Bytes that the acknowledgement is too high by."""
        raise NotImplementedError

    def send_syn_ack(self, now: float, *, fast_open: opt.RawOption | None = None) -> None:
        right = self.recv.nxt
        self.recv.nxt = seq.add(right, self.off() if self.fast_opened else 0)
        super().send_syn_ack(now, fast_open=fast_open)
        self.recv.nxt = right


@mutant("ACC-2", also=("ACC-10",))
class DataIsNotAcknowledged(_AcksAnotherNumber):
    """The data is delivered early, and the SYN alone acknowledged."""

    def off(self) -> int:
        return -(seq.distance(self.recv.irs, self.recv.nxt) - 1)


@mutant("ACC-10", also=("ACC-2", "ACC-5"))
class AcksOneByteTooFew(_AcksAnotherNumber):
    """The SYN is forgotten in the acknowledgement, which is one too low."""

    def off(self) -> int:
        return -1


@mutant("ACC-10", also=("ACC-5",))
class AcksOneByteTooMany(_AcksAnotherNumber):
    """The SYN counts twice in the acknowledgement, which is one too high."""

    def off(self) -> int:
        return 1


@mutant("ACC-10")
class AcksWholeWords(_AcksAnotherNumber):
    """The acknowledgement is rounded up to a multiple of four bytes of data."""

    def off(self) -> int:
        return -(seq.distance(self.recv.irs, self.recv.nxt) - 1) % 4


@mutant("ACC-11", also=("ACC-2", "ACC-10"))
class AckStopsAtZero(_AcksAnotherNumber):
    """The acknowledgement of data that crosses sequence number zero stays below it."""

    def off(self) -> int:
        wrapped = self.recv.nxt < self.recv.irs
        return -self.recv.nxt - 1 if wrapped else 0


class _Delivers(PassiveConnection):
    """A connection that acknowledges a SYN's data and delivers something else."""

    def changed(self, payload: bytes) -> bytes:
        """What the application gets of it."""
        raise NotImplementedError

    def deliver(self, data: bytes) -> None:
        early = self.state is State.SYN_RCVD and self.fast_opened
        super().deliver(self.changed(data) if early else data)


@mutant("ACC-2", also=("ACC-9", "ACC-10"))
class DataIsAcknowledgedAndLost(_Delivers):
    """The data is acknowledged, and never delivered."""

    def changed(self, payload: bytes) -> bytes:
        return b""


@mutant("ACC-9", also=("ACC-10",))
class FirstByteIsLost(_Delivers):
    """The first byte of the data is taken for the SYN's, and left out."""

    def changed(self, payload: bytes) -> bytes:
        return payload[1:]


@mutant("ACC-9", also=("ACC-10",))
class LastByteIsLost(_Delivers):
    """The last byte of the data is acknowledged, and left out."""

    def changed(self, payload: bytes) -> bytes:
        return payload[:-1]


@mutant("ACC-9", also=("ACC-5",))
class SynIsDeliveredAsAByte(_Delivers):
    """The SYN comes out of the stream as a byte of its own."""

    def changed(self, payload: bytes) -> bytes:
        return b"\0" + payload


@mutant("ACC-9", also=("ACC-10",))
class DataEndsAtAZero(_Delivers):
    """The data is copied like text, which ends at the first zero byte."""

    def changed(self, payload: bytes) -> bytes:
        return payload.partition(b"\0")[0]


@mutant("ACC-10", also=("ACC-9",))
class DataIsCutAtTheDefaultMss(_Delivers):
    """What exceeds 536 bytes is acknowledged, and left out."""

    def changed(self, payload: bytes) -> bytes:
        return payload[:536]


class _Holds(PassiveConnection):
    """A connection that keeps a SYN's data for later."""

    held = b""

    def take_syn_data(self, syn: Segment) -> None:
        self.held = syn.payload
        self.recv.nxt = seq.add(self.recv.nxt, len(syn.payload))


@mutant("ACC-2")
class DataWaitsForTheAck(_Holds):
    """The data is acknowledged, and delivered only when the handshake has ended."""

    def establish(self, now: float) -> None:
        super().establish(now)
        self.deliver(self.held)


@mutant("ACC-9", also=("ACC-2",))
class LaterDataComesFirst(_Holds):
    """The data is delivered behind that of the segment that follows."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        super().take_text(start, payload, fin)
        held, self.held = self.held, b""
        self.deliver(held)


@mutant("ACC-9")
class DataIsDeliveredAgainWithTheAck(PassiveConnection):
    """The data is delivered early, and once more when the handshake has ended."""

    early = b""

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(syn)
        self.early = syn.payload

    def establish(self, now: float) -> None:
        super().establish(now)
        self.deliver(self.early)


@mutant("ACC-9")
class ResentDataIsDeliveredAgain(PassiveConnection):
    """Data that begins where the SYN's did is taken for new."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        first = seq.add(self.recv.irs, 1)
        if self.fast_opened and payload and start == first and self.recv.nxt != first:
            self.deliver(payload)
        super().take_text(start, payload, fin)


@mutant("ACC-9")
class OverlapIsDeliveredAgain(ReceiveSide):
    """Of a segment that begins with old data all is delivered."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        taken = super().take(start, payload, fin)
        return payload if 0 < len(taken) < len(payload) else taken


@mutant("ACC-9")
class OverlapIsDropped(ReceiveSide):
    """A segment that begins with old data is dropped, with all that is new in it."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if seq.before(start, self.nxt) and payload:
            return b""
        return super().take(start, payload, fin)


@mutant("ACC-9")
class GapIsPassedOver(ReceiveSide):
    """Data that comes early is delivered at once, and the gap before it given up."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if payload and seq.before(self.nxt, start):
            self.nxt = start
        return super().take(start, payload, fin)


@mutant("ACC-11")
class CutsDataAtZero(ReceiveSide):
    """What lies beyond sequence number zero is cut off a segment, and dropped."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        return super().take(start, payload[: seq.MODULUS - start], fin)


@mutant("ACC-11", also=("ACC-2", "ACC-10"))
class NumbersHaveASign(ReceiveSide):
    """Sequence numbers are compared as signed ones, so that 0x80000000 lies before 0x7FFFFFFF."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        end = seq.add(start, len(payload))
        if payload and seq.distance(0, end) <= seq.distance(0, self.nxt):
            return b""
        return super().take(start, payload, fin)


@mutant("ACC-11", also=("ACC-2",))
class CrossingZeroIsRefused(Listener):
    """A fast open whose data crosses sequence number zero is no fast open."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        return super().decide(segment, None if segment.end < segment.seq else option, now)


@mutant("ACC-2")
class OnlyPushedDataIsTaken(Listener):
    """SYN data without PSH is not accepted."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        unpushed = segment.payload and not segment.flags & PSH
        return super().decide(segment, None if unpushed else option, now)


# A valid cookie without data.


@mutant("ACC-5", also=("ACC-1",))
class CookieAloneIsDropped(Listener):
    """A SYN with a cookie and no data is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if segment.payload or not segment.cookie:
            super().syn_arrives(segment, now)


@mutant("ACC-5", also=("ACC-10",))
class CookieAloneIsAByte(_AcksAnotherNumber):
    """A SYN with a cookie and no data is acknowledged as if it had a byte."""

    def off(self) -> int:
        return int(self.recv.nxt == seq.add(self.recv.irs, 1))


@mutant("ACC-5")
class CookieAloneInventsAByte(PassiveConnection):
    """A SYN with a cookie and no data delivers a byte that nobody sent."""

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(syn)
        self.deliver(b"" if syn.payload else b"\0")


@mutant("ACC-5", bug="MP-05")
class CookieAloneDropsTheFirstData(PassiveConnection):
    """After a cookie without data the server takes the first data for the SYN's, once more."""

    skips = False

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(syn)
        self.skips = not syn.payload

    def deliver(self, data: bytes) -> None:
        if self.skips and data:
            self.skips = False
        else:
            super().deliver(data)


# What is sent before the ACK.


@mutant("ACC-6", also=("ACC-13",))
class AnswerWaitsForTheAck(PassiveConnection):
    """No data is sent before the handshake ends."""

    def may_send_data(self) -> bool:
        return self.is_synchronized


@mutant("ACC-13", also=("ACC-6",), settings=Settings(wait_for_handshake=True))
class HoldsTheAnswer(Stack):
    """The answer is held until the handshake ends, as a defence against reflection."""


@mutant("ACC-7")
class InitialWindowOfTwentySegments(SendSide):
    """Twenty segments are sent before the ACK."""

    def initial_window(self) -> int:
        return 20 * self.mss


@mutant("ACC-7")
class InitialWindowOfElevenSegments(SendSide):
    """Eleven segments are sent before the ACK, one too many by any rule."""

    def initial_window(self) -> int:
        return 11 * self.mss


@mutant("ACC-7")
class InitialWindowInBytes(SendSide):
    """14600 bytes are sent before the ACK, however small the segments."""

    def initial_window(self) -> int:
        return 14600


@mutant("ACC-7")
class NoInitialWindow(SendSide):
    """All that the peer's window holds is sent before the ACK."""

    def initial_window(self) -> int:
        return 1 << 20


@mutant("ACC-10")
class EarlyDataAcksTheSynOnly(PassiveConnection):
    """What is sent before the ACK, behind the SYN-ACK, takes back that the data came."""

    def send_chunk(self, chunk: Chunk, now: float) -> None:
        right = self.recv.nxt
        if not self.is_synchronized:
            self.recv.nxt = seq.add(self.recv.irs, 1)
        super().send_chunk(chunk, now)
        self.recv.nxt = right


@mutant("ACC-9", also=("AFT-3",))
class EarlyAnswerComesAgain(PassiveConnection):
    """What was sent before the ACK is sent once more behind it, as new data."""

    def establish(self, now: float) -> None:
        early = bytes(self.send.data) if self.fast_opened else b""
        super().establish(now)
        self.send.data += early


@mutant("ACC-2")
class SecondFastOpenEndsTheFirst(Listener):
    """A client has one pending fast open: the next one takes its place."""

    latest: Core | None = None

    def open_ticket(self, segment: Segment, now: float) -> Ticket:
        before = self.latest
        if before and before.state is State.SYN_RCVD and before.remote[0] == segment.src:
            before.abort(now)
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        self.latest = self.stack.connections[ends]
        return super().open_ticket(segment, now)


@mutant("ACC-10")
class DeliversNoMoreThanItMaySend(PassiveConnection):
    """SYN data is acknowledged whole, and delivered up to the size of the client's MSS option."""

    def deliver(self, data: bytes) -> None:
        super().deliver(data[: self.send.mss] if self.state is State.SYN_RCVD else data)
