"""Servers that heed the option on segments without SYN (RFC 7413 section 4.1.1)."""

from __future__ import annotations

import dataclasses

from scapy_tfo import option as opt
from scapy_tfo.cookie import KeyMatch
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, FIN, SYN, Segment


@mutant("OPT-4")
class DataWithACookieOpens(Listener):
    """Data with a valid cookie opens a connection without any SYN."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.cookie and segment.payload and segment.flags & ACK:
            self.syn_arrives(segment, now)
        else:
            super().arrive(segment, now)


@mutant("OPT-4", also=("SRV-8", "AFT-6"))
class OptionOnDataIsAnswered(PassiveConnection):
    """A request on data of an established connection is answered with a cookie."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.cookie is not None and segment.payload:
            cookie = self.listener.cookies.cookie_for(segment.src, segment.dst)
            self.transmit(self.send.nxt, ACK, now, raw_options=[opt.fast_open(cookie)])
        super().other_arrives(segment, now)


@mutant("OPT-4")
class OptionOnDataDropsIt(PassiveConnection):
    """Data with the option is dropped."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if not (segment.fast_open and segment.payload):
            super().other_arrives(segment, now)


@mutant("OPT-4")
class CookieOnDataDeliversAtOnce(PassiveConnection):
    """Data with a valid cookie skips the queue, and is delivered a second time in its turn."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        option = self.listener.read_fast_open(segment)
        if option is not None and self.listener.check_cookie(segment, option).is_valid:
            self.deliver(segment.payload)
        super().other_arrives(segment, now)


@mutant("OPT-4")
class OptionOnDataResets(PassiveConnection):
    """The option on data of an established connection resets it."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.fast_open and segment.payload:
            self.abort(now)
        else:
            super().other_arrives(segment, now)


@mutant("OPT-4")
class OptionOnTheAckDropsIt(PassiveConnection):
    """The ACK that ends the handshake is dropped where it carries the option."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if self.state is not State.SYN_RCVD or not segment.fast_open:
            super().other_arrives(segment, now)


@mutant("OPT-4", also=("ACC-3",))
class CookieOnTheAckBringsDataBack(PassiveConnection):
    """Data refused in the SYN is delivered after all if the ACK shows a valid cookie."""

    def __init__(self, stack: Stack, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)
        self.refused = syn.payload

    def other_arrives(self, segment: Segment, now: float) -> None:
        pending = self.state is State.SYN_RCVD and not self.fast_opened
        super().other_arrives(segment, now)
        option = self.listener.read_fast_open(segment)
        if pending and option is not None:
            good = self.listener.check_cookie(segment, option) is not KeyMatch.NONE
            self.deliver(self.refused if good else b"")


@mutant("OPT-4")
class OptionOnTheFinHidesIt(PassiveConnection):
    """The option takes the place of the FIN flag, which is not seen."""

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if not (segment.fast_open and segment.flags & FIN):
            super().text_arrives(segment, start, now)


@mutant("OPT-4")
class OptionOnAResetHidesIt(PassiveConnection):
    """A RST with the option does not reset."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if not segment.fast_open:
            super().rst_arrives(segment, now)


@mutant("OPT-4")
class OptionMakesASyn(PassiveConnection):
    """A segment with the option is taken for a SYN, and challenged."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.fast_open and not segment.flags & SYN:
            self.challenge(now)
        else:
            super().arrive(segment, now)


@mutant("OPT-4", also=("SRV-8",))
class RequestOnTheAckIsGranted(PassiveConnection):
    """A request on the ACK of the handshake is answered with a cookie on the data."""

    wanted: FastOpen | None = None

    def other_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.wanted = self.listener.read_fast_open(segment)
        super().other_arrives(segment, now)

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        out = super().segment_options(now, payload=payload)
        if payload and self.wanted is not None:
            cookie = self.listener.cookies.cookie_for(self.remote[0], self.local[0])
            out.append(opt.fast_open(cookie))
        return out


@mutant("OPT-4", also=("SRV-8", "AFT-6"))
class OptionOnAFinIsAnswered(PassiveConnection):
    """The option on a FIN is answered with a cookie."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        super().other_arrives(segment, now)
        if segment.cookie is not None and segment.is_fin and not segment.payload:
            cookie = self.listener.cookies.cookie_for(segment.src, segment.dst)
            self.transmit(self.send.nxt, ACK, now, raw_options=[opt.fast_open(cookie)])


@mutant("OPT-4")
class OptionOnAResetCountsForTheNextSyn(Stack):
    """The option on a RST is remembered: the next SYN from its port is answered with a cookie."""

    def segment_arrives(self, segment: Segment, now: float) -> None:
        place = f"{segment.src} {segment.sport}"
        if segment.is_rst and segment.cookie is not None:
            self.counters[place] = 1
        elif segment.is_syn and self.counters[place]:
            segment = dataclasses.replace(
                segment, options=opt.padded(segment.options + bytes([opt.TFO, 2]))
            )
        super().segment_arrives(segment, now)
