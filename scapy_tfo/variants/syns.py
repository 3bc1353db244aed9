"""How a listener takes a SYN (RFC 9293 section 3.10.7.2, RFC 7413 section 4.2.2)."""

from __future__ import annotations

import math
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import PLAIN, Decision, Listener, PassiveConnection
from scapy_tfo.reference.settings import SynCookies
from scapy_tfo.reference.states import Closed, EndOfStream, Event, Received, Reset, State
from scapy_tfo.segment import ACK, FIN, RST, Segment
from scapy_tfo.variants.later import LaterStack, clock, later
from scapy_tfo.variants.registry import add, variant


@variant({"syn-ack-time": "delayed", "answer-to-abort": "RST for the SYN"}, more=(LaterStack,))
class SynAckWaits(PassiveConnection):
    """The SYN-ACK goes out 100 ms after the SYN; until then nothing is sent but a RST."""

    answered = False

    def send_first_syn_ack(self, now: float) -> None:
        later(self.stack, now + 0.1, self.answer_now)

    def answer_now(self, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.answered = True
            super().send_first_syn_ack(now)
            self.flush(now)

    def may_send_data(self) -> bool:
        return not self._waits and super().may_send_data()

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if self.answered:
            super().answer_duplicate(segment, now)

    @property
    def _waits(self) -> bool:
        # What a SYN cookie brings back has had its SYN-ACK.
        return not self.answered and self.state is State.SYN_RCVD

    def flush(self, now: float) -> None:
        if self._waits:
            # The SYN-ACK acknowledges.
            self._ack_wanted = False
        super().flush(now)


@variant({"empty-fast-open": "a plain handshake"})
class EmptyFastOpenIsPlain(Listener):
    """A SYN with a valid cookie and no data begins a plain handshake."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if option is not None and not option.is_request and not segment.payload:
            return PLAIN
        return super().decide(segment, option, now)


@variant({"plain-syn-data": "kept and acknowledged"})
class KeepsTheDataOfAPlainSyn(PassiveConnection):
    """The data of a SYN without fast open is acknowledged, and delivered after the handshake."""

    held = b""

    def open_slowly(self, syn: Segment, now: float) -> None:
        if not syn.fast_open or not self.listener.fast_open_enabled:
            self.held = self.recv.take(self.recv.nxt, syn.payload)
        super().open_slowly(syn, now)

    def establish(self, now: float) -> None:
        super().establish(now)
        held, self.held = self.held, b""
        self.deliver(held)


@variant({"syn-fin": "FIN ignored"})
class IgnoresTheFinOfASyn(Listener):
    """A SYN with FIN is taken for a SYN."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_syn and segment.is_fin and not segment.is_rst:
            segment = replace(segment, flags=segment.flags & ~FIN)
        super().arrive(segment, now)


add(
    "resets-a-syn-with-fin",
    "A SYN with FIN is answered with a RST.",
    {"syn-fin": "reset"},
    reset_syn_fin=True,
)


@variant({"source-port-zero": "dropped"})
class DropsPortZero(Listener):
    """A SYN from port 0 is dropped."""

    def takes_control_bits(self, segment: Segment) -> bool:
        return segment.sport != 0 and super().takes_control_bits(segment)


def broken(segment: Segment) -> bool:
    """Whether an option has an illegal length; those of fast open are to be ignored whatever
    their length (RFC 7413 section 4.1.1)."""
    exempt = (opt.TFO, opt.EXPERIMENT_1, opt.EXPERIMENT_2)
    return any(
        not each.is_sound and each.kind not in exempt
        for each in opt.pull_options(segment.options)
        if each.kind not in (opt.EOL, opt.NOP)
    )


@variant({"option-length-broken": "dropped"})
class DropsBrokenOptions(Listener):
    """A SYN with an option of illegal length is dropped."""

    def takes_control_bits(self, segment: Segment) -> bool:
        return not broken(segment) and super().takes_control_bits(segment)


@variant({"option-length-broken": "reset"})
class ResetsBrokenOptions(Listener):
    """A SYN with an option of illegal length is answered with a RST."""

    def takes_control_bits(self, segment: Segment) -> bool:
        if broken(segment):
            self.stack.refuse(segment)
            return False
        return super().takes_control_bits(segment)


@variant({"option-twice": "the first"})
class FirstOfTwoOptions(Listener):
    """Of two options of one kind the first counts; those of fast open are left to themselves."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_syn:
            kept: list[opt.RawOption] = []
            seen: set[int] = set()
            for each in opt.pull_options(segment.options):
                if each.kind in seen and each.kind in _ORDINARY:
                    kept += [opt.nop()] * len(opt.push_options([each]))
                else:
                    kept.append(each)
                if each.is_sound:
                    seen.add(each.kind)
            segment = replace(segment, options=opt.push_options(kept))
        super().arrive(segment, now)


_ORDINARY = {opt.MSS, opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS}


@variant({"fast-open-twice": "the first"})
class FirstFastOpenOption(Listener):
    """Of two Fast Open options the first valid one counts."""

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        valid = [each for each in segment.fast_open if isinstance(each, FastOpen)]
        valid = [each for each in valid if each.form in self.stack.settings.forms]
        return valid[0] if valid else None


@variant({"fast-open-twice": "neither"})
class NeitherFastOpenOption(Listener):
    """Two Fast Open options of one kind cancel each other."""

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        forms = [each.form for each in segment.fast_open if isinstance(each, FastOpen)]
        return None if len(set(forms)) < len(forms) else super().read_fast_open(segment)


@variant({"both-forms": "kind 34"})
class PrefersKind34(Listener):
    """Where a SYN carries both kinds of the option, kind 34 counts."""

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        valid = [each for each in segment.fast_open if isinstance(each, FastOpen)]
        standard = [each for each in valid if each.form is opt.Form.IANA]
        return standard[-1] if standard else super().read_fast_open(segment)


@variant({"both-forms": "neither"})
class RefusesBothKinds(Listener):
    """A SYN that carries both kinds of the option gets a plain handshake."""

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        forms = {each.form for each in segment.fast_open if isinstance(each, FastOpen)}
        return None if len(forms) > 1 else super().read_fast_open(segment)


@variant({"md5-offered": "dropped"})
class DropsSignedSyns(Listener):
    """A SYN with a TCP MD5 signature is dropped, since there is no key to check it with."""

    def takes_control_bits(self, segment: Segment) -> bool:
        is_known = self.settings.signature is not None or segment.option(opt.MD5) is None
        return is_known and super().takes_control_bits(segment)


_AUTHENTICATION = 29


@variant({"ao-offered": "dropped"})
class DropsAuthenticatedSyns(Listener):
    """A SYN with TCP-AO is dropped, since there is no key to check it with."""

    def takes_control_bits(self, segment: Segment) -> bool:
        return segment.option(_AUTHENTICATION) is None and super().takes_control_bits(segment)


@variant({"half-open-limit": "16"})
class HoldsSixteenHalfOpen(Listener):
    """At most 16 connections are half-open; the next SYN is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        self.backlog = min(self.backlog, 16)
        super().syn_arrives(segment, now)


add(
    "resets-when-full",
    "While the backlog is full, a SYN is answered with a RST.",
    {"half-open-overflow": "RST"},
    refuse_when_full=True,
)


@variant({"half-open-overflow": "the oldest is dropped"})
class DropsTheOldestHalfOpen(Listener):
    """While the backlog is full, a SYN takes the place of the oldest half-open connection."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if len(self._half_open) >= self.backlog > 0:
            # One whose SYN-ACK still waits is the youngest.
            oldest = min(self._half_open, key=lambda each: each.handshake_sent_at or math.inf)
            self._half_open.discard(oldest)
            oldest.drop()
        super().syn_arrives(segment, now)


@variant({"connections-at-once": "64, SYNs dropped"})
class SixtyFourConnections(Listener):
    """The host holds 64 connections; a SYN for one more is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if len(self.stack.connections) < 64:
            super().syn_arrives(segment, now)


@variant({"connections-at-once": "one, SYNs dropped"}, combines=False)
class OneConnection(Listener):
    """The host holds one connection; a SYN for another is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if not self.stack.connections:
            super().syn_arrives(segment, now)


@variant({"listener-close": "reset"}, more=(LaterStack,))
class ClosingResetsHalfOpen(PassiveConnection):
    """Half-open connections are reset when their listener closes."""

    def drop(self) -> None:
        if self.handshake_sent_at:
            self.transmit(self.send.nxt, RST | ACK, clock(self.stack))
        super().drop()


@variant({"answer-time": "after 2 s"}, combines=False, more=(LaterStack,))
class AnswersSlowly(PassiveConnection):
    """The application reads what came after two seconds."""

    was_reset = False

    def tell(self, event: Event) -> None:
        if isinstance(event, Received | EndOfStream | Closed):
            later(self.stack, clock(self.stack) + 2.0, lambda _now: self.hand_over(event))
        else:
            self.was_reset = self.was_reset or isinstance(event, Reset)
            super().tell(event)

    def hand_over(self, event: Event) -> None:
        if not self.was_reset:
            super().tell(event)


add(
    "takes-syn-fin",
    "A SYN with FIN is taken, and both are acknowledged.",
    {"syn-fin": "FIN taken"},
    accept_syn_fin=True,
)
add(
    "half-open-for-two-minutes",
    "A SYN-ACK is repeated six times, for 127 seconds.",
    {"half-open-time": "127 s"},
    syn_ack_retries=6,
    max_rto=120.0,
)
add(
    "half-open-for-half-a-minute",
    "A SYN-ACK is repeated four times, for 31 seconds.",
    {"half-open-time": "31 s"},
    syn_ack_retries=4,
)
add(
    "half-open-for-three-minutes",
    "A SYN-ACK is repeated seven times, for three minutes.",
    {"half-open-time": "183 s"},
    syn_ack_retries=7,
)
add(
    "syn-cookies-when-full",
    "While 16 connections are half-open, a SYN is answered with a SYN cookie.",
    {"half-open-limit": "16", "half-open-overflow": "SYN cookie"},
    parts=(HoldsSixteenHalfOpen,),
    syn_cookies=SynCookies.WHEN_FULL,
)
add(
    "syn-cookies-keep-options",
    "A SYN cookie keeps SACK and window scale in the timestamps, while 16 are half-open.",
    {"half-open-limit": "16", "half-open-overflow": "SYN cookie"},
    parts=(HoldsSixteenHalfOpen,),
    combines=False,
    syn_cookies=SynCookies.WHEN_FULL,
    syn_cookie_timestamps=True,
)
add(
    "another-listener-takes-over",
    "What a listener has not accepted when it closes goes to another one that shares its port.",
    {"listener-close": "taken over"},
    combines=False,
    migrate=True,
)
add(
    "syn-cookies-always",
    "Every SYN is answered with a SYN cookie, and there is no fast open.",
    {"half-open-limit": "none is held", "half-open-overflow": "SYN cookie"},
    combines=False,
    syn_cookies=SynCookies.ALWAYS,
)
add(
    "takes-ten-bytes-of-a-syn",
    "Of a fast open's data ten bytes are taken.",
    {"syn-data-size": "a part of it"},
    combines=False,
    syn_data_limit=10,
)
