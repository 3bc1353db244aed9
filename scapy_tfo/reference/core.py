"""What every connection does whatever arrives: it sends, waits, and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference import options
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.states import (
    Closed,
    EndOfStream,
    Event,
    Received,
    Reset,
    State,
    settled,
)
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Address, Flags, Segment

if TYPE_CHECKING:
    from scapy_tfo.reference.stack import Stack

_TIMESTAMPS_SIZE = 12
_CLOSED = State.CLOSED
_NOT_SYNCHRONIZED = (State.SYN_SENT, State.SYN_RCVD, State.CLOSED)


class Throttle:
    """Admits so many in a second, counted from the first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._since = 0.0
        self._count = 0

    def admits(self, now: float) -> bool:
        if now >= self._since + 1:
            self._since, self._count = now, 0
        self._count += 1
        return self._count <= self._limit


class Core:
    """One connection: its two halves, what was agreed, its timers, and its output.

    local and remote: address and port. state: see `State`. fast_opened: SYN data was accepted,
    by us where we listened, by the peer where we connected. soft_error: what ICMP complained
    about without ending the connection (RFC 1122 section 4.2.3.9).
    """

    send_side_class: type[SendSide] = SendSide
    receive_side_class: type[ReceiveSide] = ReceiveSide

    def __init__(
        self, stack: Stack, local: tuple[Address, int], remote: tuple[Address, int], state: State
    ) -> None:
        self.stack = stack
        self.settings = stack.settings
        self.local = local
        self.remote = remote
        self.state = state
        self.send = self.send_side_class(stack.choose_isn(local, remote), stack.settings)
        self.recv = self.receive_side_class(stack.settings.receive_window)
        self.fast_opened = False
        self.soft_error = ""
        self.timestamps = False
        self.sack = False
        self.scaling = False
        self.mss_offered = options.DEFAULT_MSS[remote[0].version]
        self.handshake_timer: float | None = None
        self.handshake_retries = 0
        self.handshake_sent_at = 0.0
        self.time_wait_timer: float | None = None
        self.armed: float | None = None
        self._clock_offset = stack.random.getrandbits(32)
        self._challenges = Throttle(stack.settings.challenges_per_second)
        self._echoes = Throttle(stack.settings.echoes_per_second)
        self._ack_wanted = False
        self._received_first = False
        self._application_done = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.local} {self.remote} {self.state.value}>"

    # What the application calls.

    def write(self, data: bytes, now: float) -> None:
        """Send bytes. Ignored once the connection is gone; ValueError after `close`."""
        if self.state is State.CLOSED:
            return
        if self.send.fin_queued:
            raise ValueError("the connection was closed for writing")
        self.send.data += data
        self.flush(now)

    def close(self, now: float) -> None:
        """End the stream behind all data written (RFC 9293 section 3.10.4)."""
        if self.state is State.CLOSED or self.send.fin_queued:
            return
        self.send.fin_queued = True
        self.flush(now)

    def abort(self, now: float) -> None:
        """End the connection at once with RST (RFC 9293 section 3.10.5)."""
        if self.state is State.CLOSED:
            return
        if self.state not in (State.SYN_SENT, State.TIME_WAIT):
            self.transmit(self.send.nxt, RST | ACK, now)
        self.finish(Closed(self))

    # Output.

    @property
    def is_synchronized(self) -> bool:
        """Past the handshake (RFC 9293 section 3.3.2)."""
        return self.state not in _NOT_SYNCHRONIZED

    def may_send_data(self) -> bool:
        """Whether data may go out in this state at all."""
        return self.is_synchronized

    def timestamp(self, now: float) -> int:
        """TSval: a clock of milliseconds with an offset of its own (RFC 7323 section 5.4)."""
        return (self._clock_offset + int(now * 1000)) % seq.MODULUS

    def timestamps_option(self, now: float, *, echo: bool = True) -> opt.RawOption:
        """Timestamps that echo the newest TSval (RFC 7323 section 4.3)."""
        return opt.timestamps(self.timestamp(now), self.recv.ts_recent if echo else 0)

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        """Options of a segment after the handshake; SACK only where no data wants the room."""
        out: list[opt.RawOption] = []
        if self.timestamps:
            out += [opt.nop(), opt.nop(), self.timestamps_option(now)]
        blocks = self.recv.blocks()[:3] if self.sack and not payload else []
        if blocks:
            data = b"".join(edge.to_bytes(4, "big") for block in blocks for edge in block)
            out += [opt.nop(), opt.nop(), opt.RawOption(opt.SACK, 2 + len(data), data)]
        return out

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        """Send one segment; the acknowledgement is RCV.NXT where ACK is set."""
        if raw_options is None:
            raw_options = self.segment_options(now, payload=bool(payload))
        acknowledges = bool(flags & ACK)
        self.stack.send(
            Segment(
                src=self.local[0],
                sport=self.local[1],
                dst=self.remote[0],
                dport=self.remote[1],
                seq=number,
                ack=self.recv.nxt if acknowledges else 0,
                flags=flags,
                window=self.recv.field(scaled=self.scaling and not flags & SYN),
                options=opt.push_options(raw_options),
                payload=payload,
            )
        )
        if acknowledges:
            self.recv.last_ack_sent = self.recv.nxt
            self._ack_wanted = False

    def send_ack(self, now: float) -> None:
        """<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>"""
        self.transmit(self.send.nxt, ACK, now)

    def challenge(self, now: float) -> None:
        """Challenge ACK (RFC 5961); throttled as its section 7 advises."""
        if self._challenges.admits(now):
            self.send_ack(now)

    def answer_empty(self, now: float) -> None:
        """An ACK for an unacceptable segment of no length; two ends must not do this for ever."""
        if self._echoes.admits(now):
            self.send_ack(now)

    def refuse_ack(self, ack: int) -> None:
        """<SEQ=SEG.ACK><CTL=RST>"""
        self.stack.send(
            Segment(
                src=self.local[0],
                sport=self.local[1],
                dst=self.remote[0],
                dport=self.remote[1],
                seq=ack,
                flags=RST,
                window=0,
            )
        )

    def send_chunk(self, chunk: Chunk, now: float) -> None:
        """Send data, FIN, or both."""
        flags = ACK
        if chunk.payload and seq.add(chunk.seq, len(chunk.payload)) == self.send.end:
            flags |= PSH
        if chunk.fin:
            flags |= FIN
        self.transmit(chunk.seq, flags, now, chunk.payload)
        self.send.sent(chunk, now, timed=self.is_synchronized)

    def flush(self, now: float) -> None:
        """Send what the windows allow, and the acknowledgement that is due."""
        if self.state is not _CLOSED and self.may_send_data():
            while chunk := self.send.next_chunk():
                self.send_chunk(chunk, now)
            if self.is_synchronized:
                self.send.keep_probing(now)
                self.settle(now)
        if self._ack_wanted and self.state is not _CLOSED:
            self.send_ack(now)
        self.stack.arm(self)

    def path_mss(self) -> int:
        """Payload and options that one segment may have towards the peer, in bytes."""
        return min(self.mss_offered, self.stack.mss_towards(self.remote[0]))

    def resize(self) -> None:
        """Work out the payload of a full segment from what was agreed (RFC 9293 3.7.1)."""
        self.send.mss = max(1, self.path_mss() - (_TIMESTAMPS_SIZE if self.timestamps else 0))

    # What has come in order.

    def deliver(self, data: bytes) -> None:
        """Hand bytes to the application."""
        if data:
            self.tell(Received(self, data))

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        """Take a segment's text and FIN, and hand over what is in order."""
        ended = self.recv.finished
        data = self.recv.take(start, payload, fin)
        self.deliver(data)
        if self.recv.finished and not ended:
            self._received_first = not self.send.fin_sent
            self.tell(EndOfStream(self))
        if payload or fin:
            self._ack_wanted = True

    def tell(self, event: Event) -> None:
        """Queue an event for the application."""
        self.stack.tell(event)

    # States and timers.

    def settle(self, now: float) -> None:
        """Enter the state that the FINs of both sides say (RFC 9293 section 3.3.2)."""
        if not self.is_synchronized:
            return
        if not (self.send.fin_queued or self.recv.finished):
            self.state = State.ESTABLISHED
            return
        state = settled(
            fin_sent=self.send.fin_sent,
            fin_acked=self.send.fin_acked,
            fin_received=self.recv.finished,
            received_first=self._received_first,
        )
        if state is State.CLOSED and self.holds_last_ack():
            if self.time_wait_timer is None:
                self.send.timer = None
                self.time_wait_timer = now + 2 * self.settings.msl
                self._application_is_done()
            return
        if state is State.TIME_WAIT and self.state is not State.TIME_WAIT:
            self.send.timer = None
            self.time_wait_timer = now + 2 * self.settings.msl
            self._application_is_done()
        self.state = state
        if state is State.CLOSED:
            self.finish(Closed(self))

    def holds_last_ack(self) -> bool:
        """Whether LAST-ACK outlives the last acknowledgement (paper 3.5)."""
        return self.settings.hold_last_ack

    def _application_is_done(self) -> None:
        if not self._application_done:
            self._application_done = True
            self.tell(Closed(self))

    def finish(self, event: Event) -> None:
        """Enter CLOSED and forget the connection; `event` is the application's last."""
        self.state = State.CLOSED
        self.handshake_timer = self.send.timer = self.time_wait_timer = None
        if not self._application_done:
            self._application_done = True
            self.tell(event)
        self.stack.forget(self)

    def fail(self, error: str, now: float) -> None:
        """The connection is lost; the application is told the error's name."""
        self.finish(Reset(self, error))

    def deadline(self) -> float | None:
        """When `on_timer` should be called next, in seconds; None where nothing waits."""
        first = self.handshake_timer
        for each in (self.send.timer, self.time_wait_timer):
            if each is not None and (first is None or each < first):
                first = each
        return first

    def on_timer(self, now: float) -> None:
        """Do what is due."""
        if self.handshake_timer is not None and self.handshake_timer <= now:
            self.handshake_timed_out(now)
        if self.send.timer is not None and self.send.timer <= now:
            self.retransmit(now)
        if self.time_wait_timer is not None and self.time_wait_timer <= now:
            self.finish(Closed(self))
        self.stack.arm(self)

    def handshake_timed_out(self, now: float) -> None:
        """The SYN or SYN-ACK timer fired: send it again, or give up."""
        self.handshake_retries += 1
        if self.handshake_retries > self.handshake_limit():
            self.fail(self.soft_error or "ETIMEDOUT", now)
            return
        timeout = self.settings.initial_rto * 2**self.handshake_retries
        self.handshake_timer = now + min(timeout, self.settings.max_rto)
        self.retransmit_handshake(now)

    def first_handshake_timeout(self) -> float:
        """Seconds until SYN or SYN-ACK goes out a second time."""
        return self.settings.initial_rto

    def handshake_limit(self) -> int:
        """How often SYN or SYN-ACK is sent again."""
        return self.settings.syn_ack_retries

    def retransmit_handshake(self, now: float) -> None:
        """Send SYN or SYN-ACK again."""
        raise NotImplementedError

    def retransmit(self, now: float) -> None:
        """The retransmission or persist timer fired (RFC 6298 section 5, RFC 9293 3.8.6.1)."""
        if not self.send.timed_out():
            self.fail(self.soft_error or "ETIMEDOUT", now)
            return
        chunk = self.send.next_chunk(probe=True)
        if chunk is not None:
            self.send_chunk(chunk, now)
        self.flush(now)

    # ICMP.

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        """An ICMP error quotes a segment of ours: advice only (RFC 1122 section 4.2.3.9)."""
        self.soft_error = error

    def packet_too_big(self, now: float) -> None:
        """The path's MTU fell: send smaller segments at once (RFC 1191 6.5, RFC 8201 5.4)."""
        before = self.send.mss
        self.resize()
        if self.send.mss < before and self.may_send_data():
            self.send.rewind()
            self.flush(now)
