"""SYN at a listener: the server's side of RFC 7413 section 4.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_tfo import option as opt
from scapy_tfo.cookie import Cookies, KeyMatch
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.options import read_offer
from scapy_tfo.reference.pending import Pending, Ticket
from scapy_tfo.reference.settings import Cookieless
from scapy_tfo.reference.states import Accepted, Closed, State
from scapy_tfo.segment import ACK, FIN, Segment
from scapy_tfo.values import value

if TYPE_CHECKING:
    from scapy_tfo.reference.stack import Stack


@value(frozen=True, slots=True)
class Decision:
    """What becomes of a SYN. accept: it is a fast open. answer: the option for the SYN-ACK."""

    accept: bool = False
    answer: opt.RawOption | None = None


PLAIN = Decision()
"""A 3-way handshake, no data taken, no option in answer."""


class PassiveConnection(Connection):
    """A connection that a listener made of a SYN."""

    def __init__(self, stack: Stack, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, (syn.dst, syn.dport), (syn.src, syn.sport), State.SYN_RCVD)
        self.listener = listener
        self.ticket: Ticket | None = None
        self.answer: opt.RawOption | None = None
        offer = read_offer(syn)
        self.recv.start(syn.seq)
        self.agree(offer)
        if offer.timestamp is not None:
            self.recv.ts_recent, self.recv.ts_recent_at = offer.timestamp, now
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
        self.tell(Accepted(self, self.listener))
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
        self.send_first_syn_ack(now)

    def send_first_syn_ack(self, now: float) -> None:
        """The SYN-ACK that may carry a Fast Open option."""
        self.send_syn_ack(now, fast_open=self.answer)
        self.start_handshake(now)

    def retransmit_handshake(self, now: float) -> None:
        super().retransmit_handshake(now)
        self.send.cwnd = min(self.send.cwnd, self.send.window_after_lost_handshake())

    def may_send_data(self) -> bool:
        if self.state is State.SYN_RCVD:
            return self.fast_opened and not self.settings.wait_for_handshake
        return super().may_send_data()

    def establish(self, now: float) -> None:
        if not self.fast_opened:
            self.send.cwnd = self.send.initial_window()
        super().establish(now)
        self.release_pending()
        if not self.fast_opened:
            self.listener.completed(self)
            self.tell(Accepted(self, self.listener))

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
        if self.settings.reset_accounting:
            ticket.reset(now)
        else:
            ticket.release()

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
            self.answer_duplicate(segment, now)
        else:
            super().syn_arrives(segment, now)

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        """The SYN again: the SYN-ACK again, with what is acknowledged already.

        A SYN that came without the option is a client's retransmission, and gets none back.
        """
        repeat = self.answer is not None and not self.handshake_retries and segment.fast_open
        self.send_syn_ack(now, fast_open=self.answer if repeat else None)


class Listener:
    """A port that accepts connections.

    port: for every address of the host. pending: the account of pending fast opens; its limit
    is 0 where fast open is off. cookies: the listener's own, or None for the host's; replace
    it at will. backlog: connections in SYN-RCVD that are not fast opens, at most.
    """

    pending_class: type[Pending] = Pending

    def __init__(
        self, stack: Stack, port: int, *, fast_open: int, cookies: Cookies | None, backlog: int
    ) -> None:
        self.stack = stack
        self.port = port
        self.backlog = backlog
        self.own_cookies = cookies
        self.pending = self.pending_class(fast_open, reset_timeout=stack.settings.reset_timeout)
        self._half_open: set[PassiveConnection] = set()

    @property
    def fast_open_enabled(self) -> bool:
        """FastOpenEnabled: off unless the application asked (RFC 7413 section 4.2)."""
        return self.pending.limit != 0

    @property
    def cookies(self) -> Cookies:
        return self.stack.cookies if self.own_cookies is None else self.own_cookies

    @cookies.setter
    def cookies(self, cookies: Cookies | None) -> None:
        self.own_cookies = cookies

    def close(self, now: float) -> None:
        """Stop listening: accepted connections go on, half-open ones are forgotten."""
        for each in tuple(self._half_open):
            each.drop()
        self._half_open.clear()
        self.stack.close_listener(self)

    def completed(self, connection: PassiveConnection) -> None:
        """A half-open connection is half-open no more."""
        self._half_open.discard(connection)

    def arrive(self, segment: Segment, now: float) -> None:
        """LISTEN of SEGMENT ARRIVES (RFC 9293 section 3.10.7.2)."""
        if segment.is_rst:
            return
        if segment.flags & ACK:
            self.stack.refuse(segment)
        elif segment.is_syn and self.takes_control_bits(segment):
            self.syn_arrives(segment, now)

    def takes_control_bits(self, segment: Segment) -> bool:
        """Whether a SYN with these bits is taken; one with FIN is dropped by most stacks."""
        return not segment.flags & FIN or self.stack.settings.accept_syn_fin

    def syn_arrives(self, segment: Segment, now: float) -> None:
        """Section 4.2.2, "Receiving SYN and responding with SYN-ACK"."""
        if len(self._half_open) >= self.backlog:
            self.stack.counters["ListenDrops"] += 1
            return
        decision = self.decide(segment, self.read_fast_open(segment), now)
        connection = self.stack.connection_class(self.stack, self, segment, now)
        connection.answer = decision.answer
        self.stack.add(connection)
        if decision.accept:
            connection.open_fast(segment, self.open_ticket(segment, now), now)
        else:
            self._half_open.add(connection)
            connection.open_slowly(segment, now)
        self.stack.arm(connection)

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        """The Fast Open option that counts: the last valid one of a form that is understood."""
        valid = [
            each
            for each in segment.fast_open
            if isinstance(each, FastOpen) and each.form in self.stack.settings.forms
        ]
        return valid[-1] if valid else None

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        """Steps 1 to 3 of section 4.2.2: enabled, below the limit, cookie valid."""
        cookieless = self.stack.settings.cookieless
        if not self.fast_open_enabled:
            return PLAIN
        if option is None and cookieless is not Cookieless.ANY:
            return PLAIN
        if not self.below_limit(segment, now):
            self.stack.counters["TCPFastOpenListenOverflow"] += 1
            return PLAIN
        if cookieless is Cookieless.ANY:
            return self.accept(None)
        assert option is not None
        if option.is_request:
            self.stack.counters["TCPFastOpenCookieReqd"] += 1
            if cookieless is Cookieless.EMPTY and segment.payload:
                return self.accept(None)
            return Decision(answer=self.grant(segment, option))
        return self.decide_cookie(segment, option)

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        """Take the data if the cookie is good; a fresh cookie where it is not, or not for long."""
        match = self.check_cookie(segment, option)
        if match is KeyMatch.NONE:
            self.stack.counters["TCPFastOpenPassiveFail"] += 1
            return Decision(answer=self.grant(segment, option))
        if match is KeyMatch.BACKUP:
            self.stack.counters["TCPFastOpenPassiveAltKey"] += 1
        renew = match is KeyMatch.BACKUP or self.cookies.one_time
        return self.accept(self.grant(segment, option) if renew else None)

    def accept(self, answer: opt.RawOption | None) -> Decision:
        """A fast open."""
        self.stack.counters["TCPFastOpenPassive"] += 1
        return Decision(accept=True, answer=answer)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        """IsCookieValid (section 4.1.2)."""
        return self.cookies.check(option.cookie, segment.src, segment.dst)

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        """GetCookie, in the form that the client used (section 4.1.2)."""
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open(cookie, form=option.form)

    def below_limit(self, segment: Segment, now: float) -> bool:
        """Whether the limits of listener, host and client leave room for one more."""
        return (
            self.pending.admits(now)
            and self.stack.host_pending.admits(now)
            and self.stack.client_pending.admits(segment.src, now)
        )

    def open_ticket(self, segment: Segment, now: float) -> Ticket:
        """Count a fast open in every account that it belongs to."""
        accounts = [self.pending, self.stack.host_pending]
        client = self.stack.client_pending.of(segment.src)
        if client is not None:
            accounts.append(client)
        return Ticket(tuple(accounts))
