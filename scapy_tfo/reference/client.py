"""Active open: the client's side of RFC 7413 sections 4.1.3 and 4.2."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.reference import options
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.core import Host
from scapy_tfo.reference.options import read_offer
from scapy_tfo.reference.parts import ecn
from scapy_tfo.reference.settings import Icmp
from scapy_tfo.reference.states import Closed, Connected, State
from scapy_tfo.segment import ACK, SYN, Address, Segment

_TYPICAL_MSS = {4: 1460, 6: 1440}
"""Bytes (RFC 7413 section 4.1.3)."""

_RTT_FACTOR = 1.5
"""Of the cached RTT, for the SYN timer (paper 4.1)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the first SYN goes out. option: Fast Open's, or None. data: SYN data may be sent."""

    option: opt.RawOption | None = None
    data: bool = False


PLAIN = Plan()
"""A regular 3-way handshake."""


class ActiveConnection(Connection):
    """A connection that we opened.

    asked: the application allows fast open (RFC 7413 section 2). syn_data: bytes in the first
    SYN. tried: that SYN carried the option.
    """

    def __init__(
        self,
        stack: Host,
        local: tuple[Address, int],
        remote: tuple[Address, int],
        *,
        fast_open: bool,
    ) -> None:
        super().__init__(stack, local, remote, State.SYN_SENT)
        self.asked = fast_open
        self.tried = False
        self.requested = False
        self.syn_data = 0
        self.cached = stack.cache.look_up(local[0], remote[0])

    # Sending the SYN.

    def open(self, data: bytes, now: float) -> None:
        """Send the SYN, with data where the cache allows it (section 4.2.2)."""
        self.send.data += data
        plan = self.plan(now)
        fitting = None
        if plan.option is not None:
            fitting = options.with_fast_open(self.syn_options(now), plan.option)
        if fitting is None:
            plan, fitting = PLAIN, options.aligned_or_not(self.syn_options(now))
        payload = self.take_syn_data(fitting) if plan.data else b""
        self.tried = plan.option is not None
        self.requested = self.tried and not plan.data
        self.syn_data = len(payload)
        flags = SYN | (ecn.SETUP if self.settings.ecn else 0)
        self.transmit(self.send.iss, flags, now, payload, fitting)
        self.send.sent_syn(len(payload))
        self.start_handshake(now)
        self.stack.arm(self)

    def plan(self, now: float) -> Plan:
        """Cookie and data, a request for a cookie, or neither (sections 4.2.1 and 4.2.2)."""
        path = (self.local[0], *self.remote)
        form = self.settings.client_form
        if not self.asked or self.stack.cache.is_refused(*path, now):
            return PLAIN
        if self.cached.cookie:
            form = self.form_of_cookie()
            return Plan(opt.fast_open(self.cached.cookie, form=form), data=True)
        if self.settings.data_without_cookie:
            return Plan(opt.fast_open(form=form), data=True)
        if self.stack.cache.may_request(*path, now):
            return Plan(opt.fast_open(form=form))
        return PLAIN

    def form_of_cookie(self) -> Form:
        """The kind under which a cookie goes back: the one under which it came."""
        return self.cached.form

    def syn_options(self, now: float) -> list[opt.RawOption]:
        """Options of every SYN, retransmitted or not, in the order they are sent."""
        own = self.settings
        out = [opt.nop()] * own.other_syn_options
        if self.signature is not None:
            out.append(self.signature.placeholder)
        out.append(opt.mss(options.mss_for(self.local[0], own.mtu)))
        if own.sack:
            out.append(opt.sack_permitted())
        if own.timestamps:
            out.append(self.timestamps_option(now, echo=False))
        if own.window_scaling:
            out.append(opt.window_scale(own.window_shift))
        return out

    def take_syn_data(self, syn_options: list[opt.RawOption]) -> bytes:
        """As much of the data as the SYN may carry beside its options (section 4.1.3)."""
        used = len(opt.padded(opt.push_options(syn_options)))
        return bytes(self.send.data[: max(0, self.syn_mss() - used)])

    def syn_mss(self) -> int:
        """The cached MSS, or the default; never more than the path carries, in bytes."""
        version = self.remote[0].version
        size = self.cached.mss or options.DEFAULT_MSS[version]
        if self.settings.cap_mss:
            size = min(size, _TYPICAL_MSS[version])
        return min(size, self.stack.mss_towards(self.remote[0]))

    def first_handshake_timeout(self) -> float:
        if self.settings.syn_timer_from_rtt and self.cached.rtt:
            return _RTT_FACTOR * self.cached.rtt
        return super().first_handshake_timeout()

    def handshake_limit(self) -> int:
        return self.settings.syn_retries

    def retransmit_handshake(self, now: float) -> None:
        """A SYN with neither data nor Fast Open option (section 4.2.2)."""
        if self.state is State.SYN_RCVD:
            self.send_syn_ack(now)
        else:
            self.send_plain_syn(now)

    def send_plain_syn(self, now: float) -> None:
        """The SYN again, as a regular one."""
        self.transmit(
            self.send.iss, SYN, now, raw_options=options.aligned_or_not(self.syn_options(now))
        )

    # What the application calls.

    def close(self, now: float) -> None:
        """As everywhere; a SYN-SENT with nothing to send is given up (RFC 9293 3.10.4)."""
        if self.state is State.SYN_SENT and not self.send.data:
            self.finish(Closed(self))
        else:
            super().close(now)

    # SYN-SENT.

    def arrive(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_SENT:
            self.answer_arrives(segment, now)
            self.flush(now)
        else:
            super().arrive(segment, now)

    def answer_arrives(self, segment: Segment, now: float) -> None:
        """SEGMENT ARRIVES in SYN-SENT (RFC 9293 section 3.10.7.3)."""
        acked = bool(segment.flags & ACK)
        if acked and not self.completes_handshake(segment.ack):
            if not segment.is_rst:
                self.refuse_ack(segment.ack)
            return
        if segment.is_rst:
            if acked:
                self.refused(now)
        elif segment.flags & SYN and acked:
            self.syn_ack_arrives(segment, now)
        elif segment.flags & SYN:
            self.crossing_syn_arrives(segment, now)

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        """ "Client: Receiving SYN-ACK" of section 4.2.2."""
        offer = read_offer(segment)
        self.recv.start(segment.seq)
        self.agree(offer)
        if offer.timestamp is not None:
            self.recv.ts_recent, self.recv.ts_recent_at = offer.timestamp, now
        if self.settings.ecn and not self.handshake_retries and ecn.is_setup_syn_ack(segment):
            self.agree_on_ecn()
        self.send.cwnd = self.send.initial_window()
        accepted = seq.distance(self.send.iss, segment.ack) - 1
        if self.asked:
            self.learn(segment, accepted, now)
        self.send.acknowledged(segment.ack, now)
        self.establish(now)
        self.send.wl1, self.send.wl2 = segment.seq, segment.ack
        self.send.set_window(segment.window)
        self.resend_refused()
        self._ack_wanted = True
        self.take_text(self.recv.nxt, segment.payload, segment.is_fin)
        self.settle(now)

    def resend_refused(self) -> None:
        """What the SYN-ACK left unacknowledged goes out again with the first ACK."""
        self.send.rewind()

    def establish(self, now: float) -> None:
        super().establish(now)
        self.tell(Connected(self))

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        """Remember what the SYN-ACK says of the server (sections 4.1.3 and 4.2.2)."""
        cache, server = self.stack.cache, self.remote[0]
        path = (self.local[0], *self.remote)
        fresh = self.read_cookie(segment)
        cache.learn(self.local[0], server, mss=segment.mss)
        if not self.handshake_retries:
            cache.learn(self.local[0], server, rtt=now - self.handshake_sent_at)
        if fresh is not None:
            cache.learn(self.local[0], server, cookie=fresh.cookie, form=fresh.form)
        if self.syn_data:
            self.fast_opened = accepted > 0
            name = "TCPFastOpenActive" if accepted else "TCPFastOpenActiveFail"
            self.stack.counters[name] += 1
        if self.is_negative(accepted, fresh):
            cache.refuse(*path, now)
        elif self.requested and fresh is None:
            cache.unanswered(*path, now)
            if self.settings.forget_on_silence and not self.handshake_retries:
                cache.forget(self.local[0], server)

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        """The cookie of a SYN-ACK: the last valid one, where we tried fast open at all."""
        cookies = [
            each
            for each in segment.fast_open
            if isinstance(each, FastOpen)
            and not each.is_request
            and each.form in self.settings.forms
        ]
        return cookies[-1] if cookies and self.tried else None

    def is_negative(self, accepted: int, fresh: FastOpen | None) -> bool:
        """Whether this SYN-ACK says that fast open does not work on the path (4.1.3.1).

        SYN data refused, or a SYN that had to go out again without the option. A refusal that
        brings a new cookie names its own cure: the old cookie had expired.
        """
        if fresh is not None or not self.tried:
            return False
        return accepted == 0 and (self.syn_data > 0 or self.handshake_retries > 0)

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        """Simultaneous open; data in the peer's SYN is left for it to send again."""
        offer = read_offer(segment)
        self.recv.start(segment.seq)
        self.agree(offer)
        if offer.timestamp is not None:
            self.recv.ts_recent, self.recv.ts_recent_at = offer.timestamp, now
        self.send.cwnd = self.send.initial_window()
        self.state = State.SYN_RCVD
        self.send.wl1, self.send.wl2 = segment.seq, self.send.iss
        self.send.set_window(segment.window)
        self.send.rewind()
        self.send_syn_ack(now)

    def is_crossed_syn_ack(self, segment: Segment) -> bool:
        """It repeats the SYN that brought us to SYN-RCVD, and acknowledges ours."""
        return segment.is_syn_ack and self.state is State.SYN_RCVD and segment.seq == self.recv.irs

    # Failure.

    def reset_by_peer(self, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.refused(now)
        else:
            super().reset_by_peer(now)

    def refused(self, now: float) -> None:
        """RST in answer to our SYN."""
        self.fail("ECONNREFUSED", now)

    def fail(self, error: str, now: float) -> None:
        if self.fails_path(error):
            self.stack.cache.refuse(self.local[0], *self.remote, now)
        super().fail(error, now)

    def fails_path(self, error: str) -> bool:
        """Whether a connection that tried fast open and failed so is a negative answer.

        No answer to the SYN is; so is a path that goes silent behind it, and a RST in answer.
        """
        if not self.tried:
            return False
        return self.state in (State.SYN_SENT, State.SYN_RCVD) or (
            error == "ETIMEDOUT" and not self.has_delivered()
        )

    def has_delivered(self) -> bool:
        """Whether the peer acknowledged anything beyond the SYN and its data."""
        return seq.distance(self.send.iss, self.send.una) > 1 + self.syn_data

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        """ICMP is a negative answer to a fast open (4.1.3.1); hard errors end a SYN-SENT."""
        super().unreachable(error, hard=hard, now=now)
        if self.state is State.SYN_SENT:
            if self.tried:
                self.stack.cache.refuse(self.local[0], *self.remote, now)
            if hard and self.settings.icmp is not Icmp.ADVICE:
                self.fail(error, now)

    def packet_too_big(self, now: float) -> None:
        """A SYN with data was too big: a plain SYN at once (RFC 1191 section 6.5)."""
        if self.state is State.SYN_SENT and self.syn_data:
            self.send_plain_syn(now)
        else:
            super().packet_too_big(now)
