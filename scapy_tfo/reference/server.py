"""SYN at a listener: the server's side of RFC 7413 section 4.2."""

from __future__ import annotations

import zlib
from typing import Protocol

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.cookie import Cookies
from scapy_tfo.reference import options
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.core import Ends
from scapy_tfo.reference.fast_open import PLAIN as PLAIN
from scapy_tfo.reference.fast_open import Decision as Decision
from scapy_tfo.reference.fast_open import FastOpenHost, FastOpenPort
from scapy_tfo.reference.options import read_offer
from scapy_tfo.reference.parts import ecn, syn_cookies
from scapy_tfo.reference.parts.accept_queue import AcceptQueue
from scapy_tfo.reference.parts.accept_queue import AcceptsLate as AcceptsLate
from scapy_tfo.reference.parts.pending import Ticket
from scapy_tfo.reference.parts.signatures import accepts_first
from scapy_tfo.reference.settings import AcceptFull, Settings, SynCookies
from scapy_tfo.reference.states import Accepted, Closed, State
from scapy_tfo.segment import ACK, FIN, SYN, Segment


class ServerHost(FastOpenHost, Protocol):
    """What a listener and its connections use of their host, besides."""

    listeners: dict[int, Listener]
    connection_class: type[PassiveConnection]

    @property
    def syn_cookie_key(self) -> bytes: ...

    def add(self, connection: Connection) -> None: ...

    def close_listener(self, listener: Listener) -> None: ...


class PassiveConnection(Connection):
    """A connection that a listener made of a SYN."""

    _answer_waits = False
    _syn_text = b""
    _window_later: int | None = None

    def __init__(self, stack: ServerHost, listener: Listener, syn: Segment, now: float) -> None:
        local, remote = (syn.dst, syn.dport), (syn.src, syn.sport)
        super().__init__(stack, local, remote, State.SYN_RCVD, listener.settings)
        self.listener = listener
        self.ticket: Ticket | None = None
        self.answer: opt.RawOption | None = None
        offer = read_offer(syn)
        self.recv.start(syn.seq)
        self.agree(offer)
        if offer.timestamp is not None:
            self.recv.ts_recent, self.recv.ts_recent_at = offer.timestamp, now
        if self.settings.ecn and ecn.is_setup_syn(syn):
            self.agree_on_ecn()
        self.send.wl1, self.send.wl2 = syn.seq, self.send.iss
        self.send.set_window(self.early_window(syn))
        self.send.sent_syn()

    def early_window(self, syn: Segment) -> int:
        """What may be sent before the handshake ends: a SYN's window is never scaled."""
        return syn.window

    def open_fast(self, syn: Segment, ticket: Ticket, now: float) -> None:
        """Take the data of a SYN whose cookie is good (RFC 7413 section 4.2.2 steps 4 to 6)."""
        self.fast_opened = True
        self.ticket = ticket
        self.send.cwnd = self.send.initial_window()
        self.listener.hand_over(self)
        self.take_syn_data(syn)
        self.send_first_syn_ack(now)

    def take_syn_data(self, syn: Segment) -> None:
        """Hand the SYN's data over before the handshake ends, and acknowledge it."""
        payload = syn.payload
        limit = self.settings.syn_data_limit
        whole = limit is None or len(payload) <= limit
        self.take_text(self.recv.nxt, payload[:limit], whole and syn.is_fin)

    def open_slowly(self, syn: Segment, now: float) -> None:
        """A 3-way handshake: the SYN's data is dropped and only the SYN acknowledged."""
        if self.settings.keep_syn_data:
            self._syn_text = self.recv.take(self.recv.nxt, syn.payload)
        self.send_first_syn_ack(now)

    def send_first_syn_ack(self, now: float) -> None:
        """The SYN-ACK that may carry a Fast Open option."""
        if self.settings.syn_ack_window is not None:
            self._window_later = self.recv.wnd
            self.recv.wnd = min(self.recv.wnd, self.settings.syn_ack_window)
        if self.settings.syn_ack_delay:
            self._answer_waits = True
            self._ack_wanted = False
            self.alarms["SYN-ACK"] = (now + self.settings.syn_ack_delay, self._answer)
        else:
            self._answer(now)

    def _answer(self, now: float) -> None:
        self._answer_waits = False
        self.send_syn_ack(now, fast_open=self.answer)
        self.start_handshake(now)
        if self.settings.syn_ack_delay:
            self.flush(now)

    def retransmit_handshake(self, now: float) -> None:
        super().retransmit_handshake(now)
        self.send.cwnd = min(self.send.cwnd, self.send.window_after_lost_handshake())

    def may_send_data(self) -> bool:
        if self.state is State.SYN_RCVD:
            if self._answer_waits:
                return False
            return self.fast_opened and not self.settings.wait_for_handshake
        return super().may_send_data()

    def establish(self, now: float) -> None:
        if not self.fast_opened:
            self.send.cwnd = self.send.initial_window()
        super().establish(now)
        self.release_pending()
        if not self.fast_opened:
            self.listener.completed(self)
            self.listener.hand_over(self)
        if self._syn_text:
            self.deliver(self._syn_text)
        if self._window_later is not None:
            self.alarms["window"] = (now + self.settings.window_opens_after, self.open_window)

    def open_window(self, now: float) -> None:
        """Offer the window that the SYN-ACK kept back."""
        assert self._window_later is not None
        self.enlarge_window(self._window_later, now)

    def may_establish(self, now: float) -> bool:
        """Whether there is room for one more that waits to be accepted."""
        if self._answer_waits:
            return False
        if self.fast_opened or not self.listener.queue.is_full:
            return True
        self.stack.counters["ListenDrops"] += 1
        if self.settings.accept_full is AcceptFull.RESET:
            self.listener.completed(self)
            self._application_done = True
            self.abort(now)
        return False

    def wait_to_be_accepted(self) -> None:
        """The application does not know of the connection yet: keep all that it would be told."""
        self._withheld = []
        self.pause()

    def accepted(self, now: float) -> None:
        """The application takes the connection, and what has come since."""
        withheld, self._withheld = self._withheld or [], None
        self.tell(Accepted(self, self.listener))
        self.resume(now)
        for event in withheld:
            self.tell(event)

    def forget_options(self, now: float, *, keep: bool) -> None:
        """A SYN cookie holds no options but the MSS; `keep`: the timestamps hold some more."""
        if keep and self.timestamps:
            shift = self.send.shift if self.scaling else None
            stamp = syn_cookies.stamped(self.timestamp(now), shift=shift, sack=self.sack)
            self.set_clock(stamp, now)
        else:
            self.timestamps = self.sack = self.scaling = False
        if self.congestion is not None:
            self.congestion, self.dressings = None, self.dressings[1:]

    def release_pending(self) -> None:
        """The handshake ended: it counts no more (RFC 7413 section 4.2.2, receiving ACK)."""
        if self.ticket is not None:
            self.ticket.release()

    def reset_by_peer(self, now: float) -> None:
        """In SYN-RCVD the count is kept, against floods from spoofed hosts (section 5.1)."""
        if self.state is State.SYN_RCVD and self.ticket is not None:
            self.account_reset(self.ticket, now)
        super().reset_by_peer(now)

    def account_reset(self, ticket: Ticket, now: float) -> None:
        """What a RST in SYN-RCVD does to the count of pending fast opens."""
        ticket.reset(now)

    def fail(self, error: str, now: float) -> None:
        if self.state is State.SYN_RCVD and not self.fast_opened:
            self.listener.completed(self)
            self._application_done = True
        self.release_pending()
        super().fail(error, now)

    def abort(self, now: float) -> None:
        self.release_pending()
        super().abort(now)

    def drop(self) -> None:
        """Forget a connection that the application never saw."""
        self._application_done = True
        self.finish(Closed(self))

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and segment.seq == self.recv.irs:
            if not self._answer_waits:
                self.answer_duplicate(segment, now)
        else:
            super().syn_arrives(segment, now)

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        """The SYN again: the SYN-ACK again, with what is acknowledged already.

        A SYN that came without the option is a client's retransmission, and gets none back.
        """
        self.syn_ack_repeated = True
        repeat = self.answer is not None and not self.handshake_retries and segment.fast_open
        self.send_syn_ack(now, fast_open=self.answer if repeat else None)


class Listener(FastOpenPort):
    """A port that accepts connections.

    port: for every address of the host. backlog: connections in SYN-RCVD that are not fast opens,
    at most. queue: of connections that wait to be accepted. group: all listeners that share the
    port, itself among them; else empty.
    """

    stack: ServerHost

    def __init__(
        self,
        stack: ServerHost,
        port: int,
        *,
        fast_open: int,
        cookies: Cookies | None,
        backlog: int,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(settings or stack.settings, fast_open, cookies)
        self.stack = stack
        self.port = port
        self.backlog = backlog
        self.group: list[Listener] = []
        self.queue: AcceptQueue[PassiveConnection] = AcceptQueue()
        self._half_open: set[PassiveConnection] = set()

    def close(self, now: float) -> None:
        """Stop listening: accepted connections go on, half-open ones are forgotten.

        Those that were not accepted are reset; with `migrate` a listener that shares the port
        takes both over.
        """
        others = [each for each in self.group if each is not self]
        if others and self.settings.migrate:
            others[0].take_over(self, now)
        for each in self.queue.take_all():
            each.abort(now)
        for each in tuple(self._half_open):
            each.drop()
        self._half_open.clear()
        self.stack.close_listener(self)

    def take_over(self, other: Listener, now: float) -> None:
        """Take what another listener has not accepted, as the port's own."""
        for each in other._half_open:
            each.listener = self
        self._half_open |= other._half_open
        other._half_open = set()
        for each in other.queue.take_all():
            each.listener = self
            if self.queue.waiting is None:
                each.accepted(now)
            else:
                self.queue.waiting.append(each)

    def member_for(self, segment: Segment) -> Listener:
        """Which of the listeners that share the port a client meets, by its address and port."""
        client = segment.src.packed + segment.sport.to_bytes(2, "big")
        return self.group[zlib.crc32(client) % len(self.group)]

    def pause(self) -> None:
        """The application stops accepting: connections wait."""
        self.queue.pause()

    def accept_one(self, now: float) -> None:
        """While paused, accept the connection that waits longest, if there is one."""
        self.queue.accept_one(now)

    def resume(self, now: float) -> None:
        """The application accepts again, all that wait first."""
        self.queue.resume(now)

    def hand_over(self, connection: PassiveConnection) -> None:
        """A connection is ready for the application."""
        if self.queue.waiting is None:
            connection.tell(Accepted(connection, self))
        else:
            self.queue.add(connection)

    # Segments.

    def completed(self, connection: PassiveConnection) -> None:
        """A half-open connection is half-open no more."""
        self._half_open.discard(connection)

    def arrive(self, segment: Segment, now: float) -> None:
        """LISTEN of SEGMENT ARRIVES (RFC 9293 section 3.10.7.2)."""
        signature = self.settings.signature
        if segment.is_rst or not (signature is None or accepts_first(signature, segment)):
            return
        if segment.flags & ACK:
            if self.settings.syn_cookies is SynCookies.OFF or not self.revive(segment, now):
                self.stack.refuse(segment)
        elif segment.is_syn and self.takes_control_bits(segment):
            self.syn_arrives(segment, now)
        elif segment.is_syn and self.settings.reset_syn_fin:
            self.stack.refuse(segment)

    def takes_control_bits(self, segment: Segment) -> bool:
        """Whether a SYN with these bits is taken; one with FIN is dropped by most stacks."""
        return not segment.flags & FIN or self.stack.settings.accept_syn_fin

    def is_busy(self) -> bool:
        """Whether as many connections are open on the port as may be at once."""
        most = self.settings.connections_at_once
        return most is not None and most <= sum(
            ends[1] == self.port for ends in self.stack.connections
        )

    def syn_arrives(self, segment: Segment, now: float) -> None:
        """Section 4.2.2, "Receiving SYN and responding with SYN-ACK"."""
        full = len(self._half_open) >= self.backlog or self.is_busy()
        if self.answers_with_syn_cookie(full):
            self.send_syn_cookie(segment, now)
            return
        if full or (self.queue.is_full and self.settings.accept_full is AcceptFull.DROP_SYN):
            self.stack.counters["ListenDrops"] += 1
            if self.settings.refuse_when_full:
                self.stack.refuse(segment)
            return
        decision = self.decide(segment, self.read_fast_open(segment), now)
        if self.queue.is_full and decision.accept:
            decision = PLAIN
        connection = self.stack.connection_class(self.stack, self, segment, now)
        connection.answer = decision.answer
        self.stack.add(connection)
        if decision.accept:
            connection.open_fast(segment, self.open_ticket(segment, now), now)
        else:
            self._half_open.add(connection)
            connection.open_slowly(segment, now)
        self.stack.arm(connection)

    # SYN cookies.

    def answers_with_syn_cookie(self, full: bool) -> bool:
        """Whether a SYN is answered without keeping a state."""
        when = self.settings.syn_cookies
        return when is SynCookies.ALWAYS or (full and when is SynCookies.WHEN_FULL)

    def send_syn_cookie(self, syn: Segment, now: float) -> None:
        """Answer a SYN, and forget it (RFC 4987 section 3.6)."""
        connection = self.stack.connection_class(self.stack, self, syn, now)
        ends = (*connection.local, *connection.remote)
        key = self.stack.syn_cookie_key
        mss = syn.mss or options.DEFAULT_MSS[syn.src.version]
        connection.send.begin_at(syn_cookies.make(key, ends, syn.seq, mss, now))
        connection.forget_options(now, keep=self.settings.syn_cookie_timestamps)
        connection.send_syn_ack(now)

    def revive(self, segment: Segment, now: float) -> bool:
        """The ACK of a SYN cookie makes the connection; False where it is none."""
        ends: Ends = (segment.dst, segment.dport, segment.src, segment.sport)
        irs, iss = seq.add(segment.seq, -1), seq.add(segment.ack, -1)
        mss = syn_cookies.check(self.stack.syn_cookie_key, ends, irs, iss, now)
        if segment.flags & SYN or mss is None:
            return False
        if self.queue.is_full:
            self.stack.counters["ListenDrops"] += 1
            return True
        times = segment.timestamps if self.settings.syn_cookie_timestamps else None
        syn = syn_cookies.recalled_syn(segment, mss, times)
        connection = self.stack.connection_class(self.stack, self, syn, now)
        connection.send.begin_at(iss)
        connection.send.sent_syn()
        if times is not None:
            connection.set_clock(seq.add(times[1], 1), now)
        self.stack.add(connection)
        # When the SYN-ACK left nobody knows, and so not how long a round trip is (RFC 6298 2.1).
        connection.syn_ack_repeated = True
        connection.arrive(segment, now)
        return True
