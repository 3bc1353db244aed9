"""Servers that open well and go wrong later: in bulk, on a timer, at the close, or with others."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.parts.pending import Ticket
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, SYN, Segment


@mutant("AFT-3", settings=Settings(initial_rto=10.0, min_rto=10.0, max_rto=600.0))
class TimersAreTenTimesTooLong(PassiveConnection):
    """Whatever is lost is sent again ten times later than RFC 6298 has it."""


@mutant("AFT-2")
class NeverClosesAfterItsPeer(PassiveConnection):
    """The client's FIN is acknowledged, and none of its own ever follows."""

    def close(self, now: float) -> None:
        if self.state is not State.CLOSE_WAIT:
            super().close(now)


@mutant("AFT-11")
class StallsInBulk(PassiveConnection):
    """After 20,000 bytes nothing more is taken or acknowledged."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if seq.distance(self.recv.irs, start) <= 20_000:
            super().take_text(start, payload, fin)


@mutant("AFT-11")
class WantsAcksInOrder(ReceiveSide):
    """An ACK without text counts only at the next number, and not behind text that was lost."""

    def is_acceptable(self, start: int, length: int) -> bool:
        return super().is_acceptable(start, length) and (length > 0 or start == self.nxt)


class _Starves(PassiveConnection):
    """A connection of a host that may cease to take what plain ones send."""

    def is_plague(self, syn: Segment) -> bool:
        """Whether this fast open is one after which plain connections starve."""
        raise NotImplementedError

    def open_fast(self, syn: Segment, ticket: Ticket, now: float) -> None:
        if self.is_plague(syn):
            self.stack.counters["Starving"] = 1
        super().open_fast(syn, ticket, now)

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if self.fast_opened or not self.stack.counters["Starving"]:
            super().take_text(start, payload, fin)


@mutant("ACC-2", also=("ACC-3", "LIM-4"))
class FastOpenStarvesPlainConnections(_Starves):
    """Once a fast open was accepted, what plain connections send is taken no more."""

    def is_plague(self, syn: Segment) -> bool:
        return True


@mutant("DUP-3", also=("DUP-4",))
class ReplayStarvesPlainConnections(_Starves):
    """Once a fast open's SYN came again, what plain connections send is taken no more."""

    def is_plague(self, syn: Segment) -> bool:
        seen = f"{syn.src} {syn.sport} {syn.seq}"
        self.stack.counters[seen] += 1
        return self.stack.counters[seen] > 1


@mutant("ACC-13", also=("AFT-3",), settings=Settings(wait_for_handshake=True))
class HeldAnswerIsLost(PassiveConnection):
    """The answer is held until the handshake ends, and then forgotten."""

    def establish(self, now: float) -> None:
        if self.fast_opened:
            self.send.data.clear()
        super().establish(now)


@mutant("DUP-1")
class DuplicateSynCountsInTheAck(PassiveConnection):
    """The SYN again is acknowledged once more, with bytes that were never sent."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        super().answer_duplicate(segment, now)
        right, self.recv.nxt = self.recv.nxt, seq.add(self.recv.nxt, 8)
        self.send_ack(now)
        self.recv.nxt = right


@mutant("AFT-7")
class SendsIntoAWindowThatTheAckClosed(SendSide):
    """A window of zero is not believed once the handshake is over."""

    def set_window(self, window: int) -> bool:
        return super().set_window(window) if window or not self.syn_acked else False


@mutant("AFT-7")
class ClosedWindowStopsItsAcks(PassiveConnection):
    """While the client's window is closed its data is not acknowledged."""

    def send_ack(self, now: float) -> None:
        if self.send.wnd:
            super().send_ack(now)


@mutant("DUP-2")
class SynInTheWindowIsAnsweredAsNew(PassiveConnection):
    """A SYN inside the window of an open connection gets a SYN-ACK beside the challenge."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        super().syn_arrives(segment, now)
        if self.state is State.ESTABLISHED and self.recv.holds(segment.seq):
            self.stack.send(
                Segment(
                    src=segment.dst,
                    dst=segment.src,
                    sport=segment.dport,
                    dport=segment.sport,
                    seq=seq.add(self.send.iss, 1 << 30),
                    ack=seq.add(segment.seq, 1),
                    flags=SYN | ACK,
                )
            )


@mutant("AFT-8")
class ErrorEndsOtherConnections(PassiveConnection):
    """An ICMP error about one connection in SYN-RCVD ends the client's established ones."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard, now=now)
        for each in tuple(self.stack.connections.values()):
            if each.state is State.ESTABLISHED and each.remote[0] == self.remote[0]:
                each.fail(error, now)


@mutant("LIM-3", also=("ACC-2",))
class FreedPlaceTakesHalfTheData(PassiveConnection):
    """Once the limit was reached, a fast open is accepted with half of its data."""

    def take_syn_data(self, syn: Segment) -> None:
        if self.stack.counters["TCPFastOpenListenOverflow"]:
            self.take_text(self.recv.nxt, syn.payload[: len(syn.payload) // 2], False)
        else:
            super().take_syn_data(syn)


@mutant(
    "OPT-11",
    also=("SRV-2", "ACC-3", "ACC-4", "ACC-10"),
    settings=Settings(cookieless=True),
)
class AcknowledgesHalfOfWhatHasNoCookie(PassiveConnection):
    """Data without any option is accepted, and half of it acknowledged."""

    has_cookie = False

    def open_fast(self, syn: Segment, ticket: Ticket, now: float) -> None:
        self.has_cookie = bool(syn.fast_open)
        super().open_fast(syn, ticket, now)

    def send_first_syn_ack(self, now: float) -> None:
        taken = self.recv.nxt
        if not self.has_cookie:
            self.recv.nxt = seq.add(self.recv.irs, 1 + seq.distance(self.recv.irs, taken) // 2)
        super().send_first_syn_ack(now)
        self.recv.nxt = taken


@mutant("AFT-8")
class PacketTooBigWaitsForALongTimer(PassiveConnection):
    """After packet-too-big the segments are smaller, but come again after ten seconds only."""

    not_before = 0.0

    def packet_too_big(self, now: float) -> None:
        self.resize()
        self.not_before = now + 10

    def retransmit(self, now: float) -> None:
        if now < self.not_before:
            self.send.timer = self.not_before
        else:
            super().retransmit(now)


@mutant("AFT-11")
class SackLeavesTheSynDataOut(PassiveConnection):
    """The edges of SACK blocks are too low by the data that the SYN brought."""

    early_bytes = 0

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(syn)
        self.early_bytes = seq.distance(self.recv.irs, self.recv.nxt) - 1

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        return [
            opt.RawOption(each.kind, each.length, self.lowered(each.data))
            if each.kind == opt.SACK
            else each
            for each in super().segment_options(now, payload=payload)
        ]

    def lowered(self, edges: bytes) -> bytes:
        return b"".join(
            seq.add(int.from_bytes(edges[at : at + 4], "big"), -self.early_bytes).to_bytes(4, "big")
            for at in range(0, len(edges), 4)
        )


@mutant("AFT-11")
class SackLeavesWhatWasRefusedOut(SackLeavesTheSynDataOut):
    """The edges of SACK blocks are too low by data that the SYN brought in vain."""

    def open_slowly(self, syn: Segment, now: float) -> None:
        self.early_bytes = len(syn.payload)
        super().open_slowly(syn, now)


class _SkipsWhatWasNamed(SendSide):
    """named: the first number, and the one behind the last, of each block."""

    named: tuple[tuple[int, int], ...] = ()

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        for left, right in self.named:
            if seq.at_most(left, self.point) and seq.before(self.point, right):
                self.point = right
        return super().next_chunk(probe=probe)


@mutant("AFT-11")
class BelievesSackForEver(PassiveConnection):
    """What a SACK block named is never sent again, not even by a timer."""

    send_side_class = _SkipsWhatWasNamed
    send: _SkipsWhatWasNamed

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        option = segment.option(opt.SACK) if self.sack else None
        edges = option.data if option is not None else b""
        numbers = [int.from_bytes(edges[at : at + 4], "big") for at in range(0, len(edges), 4)]
        self.send.named += tuple(zip(numbers[::2], numbers[1::2], strict=False))
        return super().ack_arrives(segment, start, now)
