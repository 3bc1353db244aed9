"""The parts that all connections share, in every state: sending, timers, and their end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference import options
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.parts.throttle import Throttle
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import ABORTED_IN_SILENCE, Closed, Event, Reset, State, settled
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Address, Flags, Segment

_TIMESTAMPS_SIZE = 12
_SACK_HEAD, _SACK_BLOCK = 4, 8
"""Bytes: two NOPs, kind and length; and one range."""
_DELAYED_ACK = "delayed ACK"
_CLOSED = State.CLOSED
_NOT_SYNCHRONIZED = (State.SYN_SENT, State.SYN_RCVD, State.CLOSED)


Ends = tuple[Address, int, Address, int]
"""Local address and port, remote address and port."""


class Host(Protocol):
    """What a connection uses of the host that it belongs to. Stack documents each member."""

    settings: Settings
    random: random.Random
    addresses: tuple[Address, ...]
    cache: Cache
    counters: Counter[str]

    @property
    def connections(self) -> Mapping[Ends, Core]: ...

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int: ...

    def mss_towards(self, destination: Address) -> int: ...

    def mtu_towards(self, destination: Address) -> int: ...

    def note_mtu(self, destination: Address, mtu: int) -> None: ...

    def send(self, segment: Segment) -> None: ...

    def refuse(self, segment: Segment) -> None: ...

    def tell(self, event: Event) -> None: ...

    def arm(self, connection: Core) -> None: ...

    def forget(self, connection: Core) -> None: ...


class Core:
    """One connection: its two halves, what was agreed, its timers, and its output.

    local and remote: address and port. state: see `State`. fast_opened: SYN data was accepted,
    by us where we listened, by the peer where we connected. soft_error: what ICMP complained
    about without ending the connection (RFC 1122 section 4.2.3.9). alarms: what is to be done at
    a time, by name, beside the timers that every connection has. dressings: what each segment
    passes through before it is sent. ticks: in a second, of the clock of the timestamps.
    """

    send_side_class: type[SendSide] = SendSide
    ticks = 1000
    receive_side_class: type[ReceiveSide] = ReceiveSide
    _withheld: list[Event] | None = None

    def __init__(
        self,
        stack: Host,
        local: tuple[Address, int],
        remote: tuple[Address, int],
        state: State,
        settings: Settings | None = None,
    ) -> None:
        self.stack = stack
        self.settings = settings = stack.settings if settings is None else settings
        self.local = local
        self.remote = remote
        self.state = state
        self.send = self.send_side_class(stack.choose_isn(local, remote), settings)
        self.congestion_control = self.send.control
        self.recv = self.receive_side_class(
            settings.receive_window,
            keeps_early=settings.keep_early_text,
            reports_duplicates=settings.dsack,
        )
        self.fast_opened, self.soft_error = False, ""
        self.timestamps = self.sack = self.scaling = False
        self.mss_offered = options.DEFAULT_MSS[remote[0].version]
        self.handshake_timer: float | None = None
        self.handshake_retries = 0
        self.handshake_sent_at = 0.0
        self.time_wait_timer: float | None = None
        self.armed: float | None = None
        self.alarms: dict[str, tuple[float, Callable[[float], None]]] = {}
        self.signature = settings.signature
        self.dressings: tuple[Callable[[Segment], Segment], ...] = ()
        if self.signature is not None:
            self.dressings = (self.sign,)
        self._clock_offset = stack.random.getrandbits(32)
        self._challenges = Throttle(settings.challenges_per_second)
        self._echoes = Throttle(settings.echoes_per_second)
        self._ack_wanted = False
        self._acks_at_once = not settings.ack_delay
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

    def pause(self) -> None:
        """Stop reading."""
        raise NotImplementedError

    def read_some(self, size: int, now: float) -> None:
        """While it is stopped, take so many bytes."""
        raise NotImplementedError

    def resume(self, now: float) -> None:
        """Read again."""
        raise NotImplementedError

    def close(self, now: float) -> None:
        """Be done with the connection: what is written is still sent."""
        self.shutdown(now)

    def shutdown(self, now: float) -> None:
        """End the stream behind all data written (RFC 9293 section 3.10.4), and go on reading."""
        if self.state is State.CLOSED or self.send.fin_queued:
            return
        self.send.fin_queued = True
        self.flush(now)

    def abort(self, now: float) -> None:
        """End the connection at once with RST (RFC 9293 section 3.10.5)."""
        if self.state is State.CLOSED:
            return
        if self.state not in ABORTED_IN_SILENCE:
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
        """TSval: a clock of `ticks` a second, with an offset of its own (RFC 7323 5.4)."""
        return (self._clock_offset + int(now * self.ticks)) % seq.MODULUS

    def timestamps_option(self, now: float, *, echo: bool = True) -> opt.RawOption:
        """Timestamps that echo the newest TSval (RFC 7323 section 4.3)."""
        return opt.timestamps(self.timestamp(now), self.recv.ts_recent if echo else 0)

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        """Options of a segment after the handshake; SACK only where no data wants the room."""
        out: list[opt.RawOption] = []
        if self.signature is not None:
            out += options.aligned([self.signature.placeholder])
        if self.timestamps:
            out += [opt.nop(), opt.nop(), self.timestamps_option(now)]
        if self.sack and not payload and self.recv.has_report:
            room = opt.MAX_OPTIONS - len(opt.push_options(out)) - _SACK_HEAD
            blocks = self.recv.report(room // _SACK_BLOCK)
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
        segment = Segment(
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
        for dress in self.dressings:
            segment = dress(segment)
        self.stack.send(segment)
        if acknowledges:
            self.recv.last_ack_sent = self.recv.nxt
            self._ack_wanted = False
            if self.alarms:
                self.alarms.pop(_DELAYED_ACK, None)

    def sign(self, segment: Segment) -> Segment:
        """The segment with TCP MD5 or TCP-AO: one of `dressings` where there is a key."""
        assert self.signature is not None
        return self.signature.sign(segment, self.send.iss, self.recv.irs)

    def send_ack(self, now: float) -> None:
        """<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>"""
        self.transmit(self.send.nxt, ACK, now)

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
        if (
            self._ack_wanted
            and self.state is not _CLOSED
            and (self._acks_at_once or not self.ack_may_wait(now))
        ):
            self.send_ack(now)
        self.stack.arm(self)

    def ack_may_wait(self, now: float) -> bool:
        """Whether the acknowledgement that is due may be delayed."""
        return False

    def path_mss(self) -> int:
        """Payload and options that one segment may have towards the peer, in bytes."""
        return min(self.mss_offered, self.stack.mss_towards(self.remote[0]))

    def resize(self) -> None:
        """Work out the payload of a full segment from what was agreed (RFC 9293 3.7.1)."""
        taken = _TIMESTAMPS_SIZE if self.timestamps else 0
        if self.signature is not None:
            taken += len(opt.push_options(options.aligned([self.signature.placeholder])))
        self.send.mss = max(1, self.path_mss() - taken)

    def tell(self, event: Event) -> None:
        """Queue an event for the application; what it has not accepted yet keeps its own."""
        if self._withheld is None:
            self.stack.tell(event)
        else:
            self._withheld.append(event)

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
                self.time_wait_timer = now + self.settings.time_wait_length
                self._tell_last(Closed(self))
            return
        if state is State.TIME_WAIT and self.state is not State.TIME_WAIT:
            self.send.timer = None
            self.time_wait_timer = now + self.settings.time_wait_length
            self._tell_last(Closed(self))
        self.state = state
        if state is State.CLOSED:
            self.finish(Closed(self))

    def holds_last_ack(self) -> bool:
        """Whether LAST-ACK outlives the last acknowledgement (paper 3.5)."""
        return self.settings.hold_last_ack

    def _tell_last(self, event: Event) -> None:
        """Tell the application its last event, unless it had one."""
        if not self._application_done:
            self._application_done = True
            self.tell(event)

    def finish(self, event: Event) -> None:
        """Enter CLOSED and forget the connection; `event` is the application's last."""
        self.state = State.CLOSED
        self.handshake_timer = self.send.timer = self.time_wait_timer = None
        self.alarms.clear()
        self._tell_last(event)
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
        if self.alarms:
            soonest = min(when for when, _ in self.alarms.values())
            first = soonest if first is None else min(first, soonest)
        return first

    def on_timer(self, now: float) -> None:
        """Do what is due."""
        if self.handshake_timer is not None and self.handshake_timer <= now:
            self.handshake_timed_out(now)
        if self.send.timer is not None and self.send.timer <= now:
            self.retransmit(now)
        if self.time_wait_timer is not None and self.time_wait_timer <= now:
            self.finish(Closed(self))
        if self.alarms:
            for name in [each for each, (when, _) in self.alarms.items() if when <= now]:
                found = self.alarms.pop(name, None)
                if found is not None:
                    found[1](now)
        self.stack.arm(self)

    def handshake_timed_out(self, now: float) -> None:
        """The SYN or SYN-ACK timer fired: send it again, or give up."""
        self.handshake_retries += 1
        if self.handshake_retries > self.handshake_limit():
            self.fail(self.soft_error or "ETIMEDOUT", now)
            return
        doubled = max(0, self.handshake_retries - self.settings.linear_retries)
        timeout = self.settings.initial_rto * 2**doubled
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
        if self.send.undo is not None:
            self.send.undo.sent_again(self.timestamp(now))
        chunk = self.send.next_chunk(probe=True)
        if chunk is not None:
            self.send_chunk(chunk, now)
        self.flush(now)
