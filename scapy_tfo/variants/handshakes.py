"""How a handshake goes on (RFC 9293 section 3.10.7.4, RFC 7413 section 4.2.2)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.reference.parts.throttle import Throttle
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import AcceptFull
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, FIN, RST, Flags, Segment
from scapy_tfo.variants.later import LaterStack, clock, later
from scapy_tfo.variants.registry import add, variant


class WindowOpensLater(PassiveConnection):
    """A SYN-ACK that offers less than the connection will; text that comes too early is cut."""

    offered = 0
    whole: int | None = None

    def send_first_syn_ack(self, now: float) -> None:
        # Text of the SYN that nobody has read may have left less.
        self.whole, self.recv.wnd = self.recv.wnd, min(self.offered, self.recv.wnd)
        super().send_first_syn_ack(now)

    def other_arrives(self, segment: Segment, now: float) -> None:
        first = self.state is State.SYN_RCVD
        if first and segment.seq == self.recv.nxt and len(segment.payload) > self.recv.wnd:
            # What a window does not hold makes no ACK unacceptable (RFC 9293 section 3.10.7.4).
            text = segment.payload[: self.recv.wnd]
            segment = replace(segment, payload=text, flags=segment.flags & ~FIN)
        super().other_arrives(segment, now)

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.whole is not None:
            # The application may have read meanwhile.
            self.recv.wnd = max(self.recv.wnd, self.whole)
            self._ack_wanted = True


@variant({"syn-ack-window": "zero, then open"})
class SynAckOfNoWindow(WindowOpensLater):
    """The SYN-ACK offers no window; an ACK after the handshake opens it."""


@variant({"syn-ack-window": "small, then open"})
class SynAckOfASmallWindow(WindowOpensLater):
    """The SYN-ACK offers 100 bytes; an ACK after the handshake opens the window."""

    offered = 100


@variant({"syn-ack-data": "the answer"}, more=(LaterStack,))
class AnswersInTheSynAck(PassiveConnection):
    """The SYN-ACK of a fast open waits 50 ms for the answer and carries what fits."""

    waiting = False
    carrying = False

    def send_first_syn_ack(self, now: float) -> None:
        if not self.fast_opened:
            super().send_first_syn_ack(now)
            return
        self.waiting, self._ack_wanted = True, False
        later(self.stack, now + 0.05, self.answer_now)

    def answer_now(self, now: float) -> None:
        if self.waiting and self.state is State.SYN_RCVD:
            self.waiting, self.carrying = False, True
            self.send_syn_ack(now, fast_open=self.answer)
            self.carrying = False
            self.start_handshake(now)
            self.flush(now)

    def may_send_data(self) -> bool:
        return not self.waiting and super().may_send_data()

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if not self.waiting:
            super().answer_duplicate(segment, now)

    def flush(self, now: float) -> None:
        if self.waiting:
            self._ack_wanted = False
            if self.send.data:
                self.answer_now(now)
        super().flush(now)

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        chunk = self.send.next_chunk() if self.carrying else None
        if chunk is not None and raw_options is not None:
            self.carrying = False
            room = self.path_mss() - len(opt.padded(opt.push_options(raw_options)))
            payload = chunk.payload[:room]
            self.send.sent(Chunk(chunk.seq, payload, False), now, timed=False)
        super().transmit(number, flags, now, payload, raw_options)


@variant({"duplicate-syn": "ACK"})
class AcknowledgesDuplicateSyns(PassiveConnection):
    """The SYN of a half-open connection once more gets an ACK; the SYN-ACK waits for its timer."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        self.challenge(now)


@variant({"duplicate-syn": "SYN-ACK, one a second"})
class AnswersFewDuplicateSyns(PassiveConnection):
    """The SYN of a half-open connection once more gets the SYN-ACK once a second."""

    throttle: Throttle | None = None

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        self.throttle = self.throttle or Throttle(1)
        if self.throttle.admits(now):
            super().answer_duplicate(segment, now)


@variant({"duplicate-syn-option": "never"})
class CookieOnTheFirstSynAckOnly(PassiveConnection):
    """A SYN-ACK that answers a repeated SYN carries no cookie, though that SYN asks for one."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        self.send_syn_ack(now)


@variant({"other-syn-in-syn-rcvd": "back to LISTEN"})
class OtherSynEndsTheHandshake(PassiveConnection):
    """A SYN in the window of a half-open connection sends it back to LISTEN (RFC 9293 3.10.7.4)."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        half_open = self.state is State.SYN_RCVD and segment.seq != self.recv.irs
        if half_open and self.recv.holds(segment.seq):
            self.fail("ECONNRESET", now)
        else:
            super().syn_arrives(segment, now)


@variant({"other-syn-in-syn-rcvd": "reset"})
class OtherSynResetsTheHandshake(PassiveConnection):
    """A SYN in the window of a half-open connection resets it (RFC 793)."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        half_open = self.state is State.SYN_RCVD and segment.seq != self.recv.irs
        if half_open and self.recv.holds(segment.seq):
            self.transmit(self.send.nxt, RST | ACK, now)
            self.fail("ECONNRESET", now)
        else:
            super().syn_arrives(segment, now)


@variant({"bad-ack-in-syn-rcvd": "ACK"}, more=(LaterStack,))
class AcknowledgesABadAck(PassiveConnection):
    """An unacceptable ACK in SYN-RCVD is dropped with an ACK, as RFC 5961 section 5 says."""

    def refuse_ack(self, ack: int) -> None:
        self.challenge(clock(self.stack))


@variant({"early-fin": "after the ACK"})
class FinWaitsForTheHandshake(SendSide):
    """A FIN behind an early answer is sent after the handshake."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if chunk is None or not chunk.fin or self.syn_acked:
            return chunk
        return Chunk(chunk.seq, chunk.payload, False) if chunk.payload else None


@variant({"early-answer-again": "by a timer of its own"})
class RepeatsTheEarlyAnswer(PassiveConnection):
    """An answer sent before the handshake ends is repeated by a timer of its own."""

    def send_chunk(self, chunk: Chunk, now: float) -> None:
        super().send_chunk(chunk, now)
        if self.send.timer is None:
            self.send.timer = now + self.send.rto


@variant({"cookie-again-on-syn-ack": "repeated"})
class CookieOnEverySynAck(PassiveConnection):
    """A SYN-ACK repeated by its timer carries the cookie again."""

    def retransmit_handshake(self, now: float) -> None:
        self.send_syn_ack(now, fast_open=self.answer)
        self.send.cwnd = min(self.send.cwnd, self.send.window_after_lost_handshake())


@variant({"icmp-hard-half-open": "yes"})
class IcmpEndsTheHandshake(PassiveConnection):
    """An ICMP error that quotes the SYN-ACK ends a half-open connection."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard, now=now)
        if self.state is State.SYN_RCVD:
            self.fail(error, now)


class AcceptsLater(Listener):
    """The application accepts a connection 20 ms after it could; `room` wait at most."""

    room = 128

    def hand_over(self, connection: PassiveConnection) -> None:
        if self.queue.waiting is None:
            self.pause()
        if self.queue.limit is None:
            self.queue.limit = self.room
        super().hand_over(connection)
        later(self.stack, clock(self.stack) + 0.02, self.accept_one)


@variant(
    {"accept-queue": "the ACK is dropped"}, more=(LaterStack,), accept_full=AcceptFull.DROP_ACK
)
class DropsAcksWhileNoneIsAccepted(AcceptsLater):
    """While the accept queue is full, the ACK of a handshake is dropped."""


@variant({"accept-queue": "reset"}, more=(LaterStack,), accept_full=AcceptFull.RESET)
class ResetsWhileNoneIsAccepted(AcceptsLater):
    """While the accept queue is full, the ACK of a handshake is answered by RST."""


add(
    "answers-after-the-handshake",
    "The answer to a fast open is sent after the handshake.",
    {"answer-before-ack": "after the ACK"},
    wait_for_handshake=True,
)
