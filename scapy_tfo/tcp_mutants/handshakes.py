"""Wrong SYN-ACKs and ISNs: RFC 9293 sections 3.4 and 3.5, RFC 7323, 2018, 3168, 6528, 7413."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.server import Listener, PassiveConnection, ServerHost
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import CWR, ECE, Address, Segment
from scapy_tfo.tcp_mutants.headers import TALK, Dressed, added

MANY = "TCP-ISN-1.many-connections"
WAITS = "TCP-ISN-4.a-syn-ack-that-nobody-acknowledges"
OFFERS = "TCP-ECN-1.a-syn-that-offers-ecn"


class DressedSynAck(Dressed):
    """Changes its SYN-ACKs."""

    def answer(self, segment: Segment) -> Segment:
        """A SYN-ACK as it goes out."""
        raise NotImplementedError

    def dress(self, segment: Segment) -> Segment:
        return self.answer(segment) if segment.is_syn_ack else segment


@tcp_mutant("number-of-syn-ack", MANY)
class AcknowledgesTheByteBefore(DressedSynAck):
    """A SYN-ACK with a window scale acknowledges one byte less than the SYN has."""

    def answer(self, segment: Segment) -> Segment:
        scaled = segment.option(opt.WINDOW_SCALE) is not None
        return replace(segment, ack=seq.add(segment.ack, -int(scaled)))


@tcp_mutant("scale-unasked", TALK)
class AlwaysScales(DressedSynAck):
    """Each SYN-ACK offers to scale the window."""

    def answer(self, segment: Segment) -> Segment:
        if segment.option(opt.WINDOW_SCALE) is not None:
            return segment
        return added(segment, opt.window_scale(7))


@tcp_mutant("scale-too-large", MANY)
class ScalesByFifteen(DressedSynAck):
    """A SYN-ACK offers a shift of 15."""

    def answer(self, segment: Segment) -> Segment:
        if segment.option(opt.WINDOW_SCALE) is None:
            return segment
        kept = [each for each in opt.pull_options(segment.options) if each.kind == opt.MSS]
        return replace(segment, options=opt.padded(opt.push_options([*kept, opt.window_scale(15)])))


@tcp_mutant("times-unasked", TALK)
class AlwaysTimes(DressedSynAck):
    """Each SYN-ACK has timestamps."""

    def answer(self, segment: Segment) -> Segment:
        return segment if segment.timestamps else added(segment, opt.timestamps(1, 0))


@tcp_mutant("times-of-the-syn", MANY)
class EchoesNothing(PassiveConnection):
    """Timestamps echo another value than came."""

    def timestamps_option(self, now: float, *, echo: bool = True) -> opt.RawOption:
        return opt.timestamps(self.timestamp(now), self.recv.ts_recent + 1)


@tcp_mutant("sack-unasked", TALK)
class AlwaysPermitsSack(DressedSynAck):
    """Each SYN-ACK permits SACK."""

    def answer(self, segment: Segment) -> Segment:
        if segment.option(opt.SACK_PERMITTED) is not None:
            return segment
        return added(segment, opt.sack_permitted())


@tcp_mutant("ecn-unasked", TALK)
class AlwaysSpeaksEcn(DressedSynAck):
    """Each SYN-ACK agrees to ECN."""

    def answer(self, segment: Segment) -> Segment:
        return replace(segment, flags=segment.flags | ECE)


@tcp_mutant("ecn-reflected", OFFERS)
class ReflectsEcn(PassiveConnection):
    """The bits for ECN in a SYN-ACK are those of the SYN."""

    def __init__(self, stack: ServerHost, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)
        bits = syn.flags & (ECE | CWR)
        self.dressings = (
            *self.dressings,
            lambda each: replace(each, flags=each.flags | (bits if each.is_syn_ack else 0)),
        )


@tcp_mutant("another-iss", WAITS)
class ForgetsItsNumber(Dressed):
    """A SYN-ACK that is sent again has another number."""

    said: tuple[object, int] | None = None

    def dress(self, segment: Segment) -> Segment:
        if not segment.is_syn_ack:
            return segment
        known = (segment.dst, segment.dport, segment.seq)
        if self.said is not None and self.said[0] == known:
            return replace(segment, seq=seq.add(segment.seq, 1))
        self.said = known, segment.seq
        return segment


@tcp_mutant("another-offer", WAITS)
class ForgetsItsOffer(ForgetsItsNumber):
    """A SYN-ACK that is sent again lacks the window scale."""

    def dress(self, segment: Segment) -> Segment:
        other = super().dress(segment)
        if other is segment:
            return segment
        kept = [
            x for x in opt.pull_options(segment.options) if x.kind in (opt.MSS, opt.SACK_PERMITTED)
        ]
        return replace(segment, options=opt.padded(opt.push_options(kept)))


@tcp_mutant("cookie-unasked", TALK)
class AlwaysGrants(DressedSynAck):
    """Each SYN-ACK has a cookie."""

    def answer(self, segment: Segment) -> Segment:
        return segment if segment.fast_open else added(segment, opt.fast_open(b"cookies!"))


@tcp_mutant("cookie-broken", "TCP-TFO-2.a-request-for-a-cookie")
class OddCookies(DressedSynAck):
    """Cookies have five bytes."""

    def answer(self, segment: Segment) -> Segment:
        if segment.cookie is None:
            return segment
        kept = [each for each in opt.pull_options(segment.options) if each.kind == opt.MSS]
        odd = opt.RawOption(34, 7, b"cooki")
        return replace(segment, options=opt.padded(opt.push_options([*kept, odd])))


@tcp_mutant("iss-constant", MANY)
class OneNumber(Stack):
    """All connections begin with the same number."""

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int:
        return 4711


@tcp_mutant("iss-on-a-line", MANY, settings=Settings(first_isn=1))
class NumbersInSteps(Stack):
    """Each connection begins 64,000 behind the one before."""


@tcp_mutant("iss-of-the-peer", MANY)
class NumbersOfThePeer(PassiveConnection):
    """A connection begins at a fixed distance from the number of its peer."""

    def __init__(self, stack: ServerHost, listener: object, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)  # type: ignore[arg-type]
        self.send.begin_at(seq.add(syn.seq, 12_345))
        self.send.sent_syn()


@tcp_mutant("iss-repeats", "TCP-RST-6.the-same-ends-again")
class NumbersOfTheEnds(Stack):
    """The first number follows from the addresses and ports alone."""

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int:
        return zlib.crc32(f"{local} {remote}".encode())


@tcp_mutant("iss-used-before", "TCP-TW-3.the-same-ends-after-much-text")
class ReopensBehindItsFirstNumber(Stack):
    """A connection in the place of one in TIME-WAIT begins 64,000 behind where that one began."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.first: dict[object, int] = {}

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int:
        reopens = (*local, *remote) in self._reopened
        chosen = super().choose_isn(local, remote)
        if reopens and (local, remote) in self.first:
            chosen = seq.add(self.first[local, remote], 64_000)
        self.first[local, remote] = chosen
        return chosen


@tcp_mutant("no-syn-ack-backoff", WAITS)
class SynAcksAtAConstantRate(PassiveConnection):
    """SYN-ACKs are sent again every two seconds."""

    def handshake_timed_out(self, now: float) -> None:
        super().handshake_timed_out(now)
        if self.handshake_timer is not None:
            self.handshake_timer = now + 2.0


@tcp_mutant("syn-ack-too-soon", WAITS, settings=Settings(initial_rto=0.3))
class HastySynAcks(Stack):
    """SYN-ACKs are sent again after 0.3 s."""


@tcp_mutant("opens-from-afar", "TCP-SYN-20.an-ack-of-a-syn-ack-from-afar")
class OpensFromAfar(PassiveConnection):
    """The ACK of a SYN-ACK may have any sequence number."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and self.completes_handshake(segment.ack):
            segment = replace(segment, seq=self.recv.nxt)
        super().other_arrives(segment, now)
