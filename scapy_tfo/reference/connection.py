"""SEGMENT ARRIVES for every state but LISTEN and SYN-SENT (RFC 9293 section 3.10.7.4).

Each step of the section is a method, in its order.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference import options
from scapy_tfo.reference.options import Offer
from scapy_tfo.reference.parts.ecn import Ecn
from scapy_tfo.reference.parts.undo import Undo
from scapy_tfo.reference.reader import Reader
from scapy_tfo.reference.settings import Icmp
from scapy_tfo.reference.states import Closed, State
from scapy_tfo.segment import ACK, ECE, RST, SYN, Segment

_PAWS_LIFE = 24 * 86400.0
"""After that idle time a TSval proves nothing (RFC 7323 section 5.5), in seconds."""


class Connection(Reader):
    """A connection from SYN-RCVD on, and what both kinds of opening share."""

    congestion: Ecn | None = None
    _times_are_old = False
    syn_ack_repeated = False
    """A SYN that came again was answered again."""

    # Handshake.

    def agree(self, offer: Offer) -> None:
        """Use what both ends offer."""
        own = self.settings
        self.mss_offered = options.peer_mss(offer, self.remote[0])
        self.timestamps = own.timestamps and offer.timestamp is not None
        self.sack = own.sack and offer.sack
        self.scaling = own.window_scaling and offer.window_shift is not None
        if self.scaling and offer.window_shift is not None:
            self.send.shift = offer.window_shift
            self.recv.shift = own.window_shift
        else:
            self.recv.wnd = min(self.recv.wnd, 0xFFFF)
        self.resize()

    def agree_on_ecn(self) -> None:
        """Both ends speak ECN (RFC 3168 section 6.1.1)."""
        self.congestion = Ecn(self.send.iss)
        # What is signed must not change any more.
        self.dressings = (self.congestion.dress, *self.dressings)

    def syn_ack_options(self, now: float) -> list[opt.RawOption]:
        """Options that every SYN-ACK carries, retransmitted or not (RFC 7323 section 2.2)."""
        out = [] if self.signature is None else [self.signature.placeholder]
        out.append(opt.mss(self.advertised_mss()))
        if self.sack:
            out.append(opt.sack_permitted())
        if self.timestamps:
            out.append(self.timestamps_option(now))
        if self.scaling:
            out.append(opt.window_scale(self.recv.shift))
        return out

    def send_syn_ack(self, now: float, *, fast_open: opt.RawOption | None = None) -> None:
        """<SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>, with a Fast Open option where there is room."""
        plain = self.syn_ack_options(now)
        extended = options.with_fast_open(plain, fast_open) if fast_open else None
        self.transmit(
            self.send.iss,
            SYN | ACK | (ECE if self.congestion is not None else 0),
            now,
            raw_options=options.aligned_or_not(plain) if extended is None else extended,
        )

    def start_handshake(self, now: float) -> None:
        """The first SYN or SYN-ACK went out: time it."""
        self.handshake_sent_at = now
        self.handshake_timer = now + self.first_handshake_timeout()

    def retransmit_handshake(self, now: float) -> None:
        """A SYN-ACK with neither data nor Fast Open option (RFC 7413 section 4.2.2)."""
        self.send_syn_ack(now)

    def may_establish(self, now: float) -> bool:
        """Whether the acknowledgement of our SYN is taken; False where it is dropped."""
        return True

    def establish(self, now: float) -> None:
        """Our SYN is acknowledged: the handshake is over."""
        self.handshake_timer = None
        self.state = State.ESTABLISHED
        if self.handshake_retries:
            self.send.rto = max(self.send.rto, self.settings.rto_after_lost_handshake)
            self.send.cwnd = self.send.window_after_lost_handshake()
            self.send.rewind()
            self.send.timer = None
        elif not self.syn_ack_repeated:
            # Of what was sent twice nobody knows which one is acknowledged (RFC 6298 section 3).
            self.send.measure(now - self.handshake_sent_at)
        if self.send.outstanding and self.send.timer is None:
            self.send.timer = now + self.send.rto

    def set_clock(self, value: int, now: float) -> None:
        """Let the clock of `timestamp` read `value` now."""
        self._clock_offset = value - int(now * self.ticks)

    def retransmit(self, now: float) -> None:
        if self.congestion is not None:
            self.congestion.probes = not self.send.wnd
            if self.send.outstanding and self.send.wnd:
                self.congestion.reduced()
        super().retransmit(now)
        if self.congestion is not None:
            self.congestion.probes = False

    # Segment arrives.

    def arrive(self, segment: Segment, now: float) -> None:
        """Take one segment for this connection."""
        if segment.is_syn and not segment.is_rst and not self.is_crossed_syn_ack(segment):
            self.syn_arrives(segment, now)
        elif segment.is_rst:
            self.rst_arrives(segment, now)
        else:
            self.other_arrives(segment, now)
        self.flush(now)

    def is_authentic(self, segment: Segment) -> bool:
        """Whether a segment has the signature that the connection demands: it has a key."""
        assert self.signature is not None
        irs = segment.seq if segment.flags & SYN else self.recv.irs
        return self.signature.accepts(segment, irs, self.send.iss)

    def is_crossed_syn_ack(self, segment: Segment) -> bool:
        """The SYN-ACK of a simultaneous open: only an active open can see one."""
        return False

    def other_arrives(self, segment: Segment, now: float) -> None:
        """A segment with neither SYN nor RST."""
        start = segment.seq
        if segment.is_syn_ack:
            if not self.is_crossed_syn_ack(segment):
                self.challenge(now)
                return
            start = seq.add(start, 1)
        if not self.passes_paws(segment, now):
            return
        length = len(segment.payload) + segment.is_fin
        if not self.recv.is_acceptable(start, length):
            if not self.recv.wnd and start == self.recv.nxt and segment.flags & ACK:
                self.closed_window_meets(segment, start, now)
            else:
                self.unacceptable_arrives(segment, now)
            return
        self.note_timestamp(segment, start, now)
        if not segment.flags & ACK:
            return
        if self.congestion is not None and self.has_sound_ack(segment.ack):
            self.send.told = bool(segment.flags & ECE)
            if self.congestion.heard(segment):
                self.send.halve()
        if not self.ack_arrives(segment, start, now):
            return
        if self.state is not State.CLOSED:
            self.text_arrives(segment, start, now)

    def passes_paws(self, segment: Segment, now: float) -> bool:
        """R1 of RFC 7323 section 5.3, and section 3.2 for a segment that has no timestamps."""
        if not self.timestamps:
            return True
        times = segment.timestamps
        if times is None:
            return not self.settings.timestamps_required
        if seq.distance(self.recv.ts_recent, times[0]) >= 0:
            return True
        if not self._times_are_old and now - self.recv.ts_recent_at <= _PAWS_LIFE:
            self.reject(segment, now)
            return False
        # Until something else takes its place (RFC 7323 section 5.5).
        self._times_are_old = True
        return True

    def note_timestamp(self, segment: Segment, start: int, now: float) -> None:
        """Which TSval to echo (RFC 7323 section 4.3)."""
        times = segment.timestamps
        if (
            self.timestamps
            and times is not None
            and seq.at_most(start, self.recv.last_ack_sent)
            and (self._times_are_old or seq.at_most(self.recv.ts_recent, times[0]))
        ):
            self.recv.ts_recent, self.recv.ts_recent_at = times[0], now
            self._times_are_old = False

    def closed_window_meets(self, segment: Segment, start: int, now: float) -> None:
        """Text at a window of 0: only its acknowledgement is taken (RFC 9293 section 3.10.7.4)."""
        self.note_timestamp(segment, start, now)
        if self.ack_arrives(segment, start, now) and self.state is not State.CLOSED:
            self.reject(segment, now)

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        """First: outside the window; acknowledge and drop."""
        if self.state is State.TIME_WAIT and segment.is_fin:
            self.time_wait_timer = now + self.settings.time_wait_length
        if self.settings.dsack:
            self.recv.note_duplicate(segment.seq, segment.end)
        self.reject(segment, now)

    def reject(self, segment: Segment, now: float) -> None:
        """Acknowledge a segment that is dropped."""
        if segment.length:
            self.challenge(now)
        else:
            self.answer_empty(now)

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
        reset = Segment(
            src=self.local[0],
            sport=self.local[1],
            dst=self.remote[0],
            dport=self.remote[1],
            seq=ack,
            flags=RST,
            window=0,
        )
        for dress in self.dressings:
            reset = dress(reset)
        self.stack.send(reset)

    def rst_arrives(self, segment: Segment, now: float) -> None:
        """Second: RST, checked as RFC 5961 section 3.2 says."""
        if segment.seq == self.recv.nxt:
            self.reset_by_peer(now)
        elif self.recv.holds(segment.seq):
            self.challenge(now)

    def reset_by_peer(self, now: float) -> None:
        """A believable RST: the application is told, unless both sides were done."""
        if self.state in (State.CLOSING, State.LAST_ACK, State.TIME_WAIT):
            self.finish(Closed(self))
        else:
            self.fail("ECONNRESET", now)

    def syn_arrives(self, segment: Segment, now: float) -> None:
        """Fourth: SYN where there is a connection already (RFC 5961 section 4.2)."""
        self.challenge(now)

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        """Fifth: the acknowledgement; False where the segment is to be dropped."""
        send, ack = self.send, segment.ack
        if self.state is State.SYN_RCVD:
            if not self.completes_handshake(ack):
                self.refuse_ack(ack)
                return False
            if not self.may_establish(now):
                return False
            send.acknowledged(ack, now)
            self.establish(now)
            send.wl1, send.wl2 = start, ack
            send.set_window(segment.window << (0 if segment.is_syn_ack else send.shift))
            self.settle(now)
            return True
        if not self.has_sound_ack(ack):
            self.reject(segment, now)
            return False
        send.heard()
        before = (send.una, send.outstanding)
        is_old = seq.before(ack, send.una)
        changed = not is_old and send.update_window(segment.window, start, ack)
        if seq.before(send.una, ack):
            if send.acknowledged(ack, now):
                self.send_head(now)
        elif (
            before == (ack, send.outstanding)
            and send.outstanding
            and send.wnd
            and not changed
            and not segment.payload
            and not segment.is_fin
            and send.duplicate()
        ):
            if self.congestion is not None:
                self.congestion.reduced()
            self.send_head(now)
        if send.undo is not None:
            self.check_timeout(send.undo, segment, before[0], now)
        self.settle(now)
        return True

    def has_sound_ack(self, ack: int) -> bool:
        """Whether an acknowledgement is one that is not to be dropped (RFC 5961 section 5.2)."""
        send = self.send
        if self.state is State.SYN_RCVD:
            return self.completes_handshake(ack)
        oldest = seq.add(send.una, -send.max_wnd)
        return seq.at_most(oldest, ack) and seq.at_most(ack, send.nxt)

    def check_timeout(self, undo: Undo, segment: Segment, una: int, now: float) -> None:
        """Undo a timeout that this acknowledgement shows to have come too early."""
        times = segment.timestamps if self.timestamps else None
        echo = None if times is None else times[1]
        age = 0.0 if echo is None else self.age_of(echo, now)
        undo.acknowledged(self.send, una, echo, age)

    def age_of(self, echo: int, now: float) -> float:
        """Seconds since our clock read `echo`."""
        return seq.distance(echo, self.timestamp(now)) / self.ticks

    def completes_handshake(self, ack: int) -> bool:
        """SND.UNA < SEG.ACK =< SND.NXT"""
        return seq.before(self.send.una, ack) and seq.at_most(ack, self.send.nxt)

    def send_head(self, now: float) -> None:
        """Fast retransmit: the first segment that is not acknowledged, once more."""
        chunk = self.send.head()
        self.send_chunk(chunk, now)

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        """Seventh and eighth: text and FIN."""
        if self.recv.finished:
            if segment.payload or segment.is_fin:
                self._ack_wanted = True
            return
        end = seq.add(start, len(segment.payload))
        if self._closed_for_reading and segment.payload and seq.before(self.recv.nxt, end):
            self.abort(now)
            return
        self.take_text(start, segment.payload, segment.is_fin)
        self.settle(now)

    # ICMP.

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        """An ICMP error quotes a segment of ours: advice only, unless set otherwise."""
        self.soft_error = error
        if hard and self.settings.icmp is Icmp.HARD:
            self.fail(error, now)

    def packet_too_big(self, now: float) -> None:
        """The path's MTU fell: send smaller segments at once (RFC 1191 6.5, RFC 8201 5.4)."""
        before = self.send.mss
        self.resize()
        if self.send.mss < before and self.may_send_data():
            self.send.rewind()
            self.flush(now)
