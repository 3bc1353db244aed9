"""Servers whose SYN-ACK offers wrong options when fast open is used (RFC 9293, RFC 7323)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import RawOption
from scapy_tfo.reference.options import read_offer
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Segment


class _Offers(PassiveConnection):
    """A connection that knows whether its SYN had a Fast Open option."""

    def __init__(self, stack: Stack, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)
        self.syn = syn
        self.asked = syn.cookie == b""

    @property
    def is_refused(self) -> bool:
        return bool(self.syn.cookie) and not self.fast_opened

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        """The options of the SYN-ACK as this connection has them."""
        raise NotImplementedError

    def syn_ack_options(self, now: float) -> list[RawOption]:
        return self.changed(super().syn_ack_options(now), now)


def _without(options: list[RawOption], kind: int) -> list[RawOption]:
    return [each for each in options if each.kind != kind]


@mutant("OPT-9")
class CookieTakesThePlaceOfTheMss(_Offers):
    """A SYN-ACK with a cookie has no MSS."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        return options if self.answer is None else _without(options, opt.MSS)


@mutant("OPT-9")
class CookieTakesThePlaceOfSack(_Offers):
    """The answer to a request does not permit SACK."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        return _without(options, opt.SACK_PERMITTED) if self.asked else options


@mutant("OPT-9", also=("AFT-7",))
class RefusalLeavesTheScaleOut(_Offers):
    """The SYN-ACK that refuses a cookie has no window scale."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        return _without(options, opt.WINDOW_SCALE) if self.is_refused else options


@mutant("OPT-9")
class FastOpenLeavesTimestampsOut(_Offers):
    """The SYN-ACK that accepts a fast open has no timestamps."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        return _without(options, opt.TIMESTAMPS) if self.fast_opened else options


@mutant("OPT-9")
class FastOpenOffersTheDefaultMss(_Offers):
    """The SYN-ACK that accepts a fast open offers the default MSS."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        return [opt.mss(536), *_without(options, opt.MSS)] if self.fast_opened else options


@mutant("OPT-9")
class RefusalOffersTheMssBackwards(_Offers):
    """The MSS beside a refusal is in the other byte order."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        if not self.is_refused:
            return options
        swapped = int.from_bytes(self.advertised_mss().to_bytes(2, "little"), "big")
        return [opt.mss(swapped), *_without(options, opt.MSS)]


@mutant("OPT-9", also=("AFT-7",))
class FastOpenOffersAnotherScale(_Offers):
    """The SYN-ACK that accepts a fast open offers a window scale of zero."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        if not (self.fast_opened and self.scaling):
            return options
        return [*_without(options, opt.WINDOW_SCALE), opt.window_scale(0)]


@mutant("OPT-9", also=("AFT-7",))
class ScaleComesUnasked(_Offers):
    """A cookie request is answered with a window scale, whether or not the SYN had one."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        if not self.asked:
            return options
        return [*_without(options, opt.WINDOW_SCALE), opt.window_scale(7)]


@mutant("OPT-9")
class TimestampsComeUnasked(_Offers):
    """A refusal comes with timestamps, whether or not the SYN had any."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        if self.timestamps or not self.is_refused:
            return options
        return [*options, self.timestamps_option(now)]


class _Echoes(_Offers):
    """A connection with a TSecr of its own in the SYN-ACK."""

    def echo(self, right: int, now: float) -> int:
        raise NotImplementedError

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        offer = read_offer(self.syn)
        if not self.timestamps or offer.timestamp is None:
            return options
        own = opt.timestamps(self.timestamp(now), self.echo(offer.timestamp, now))
        return [*_without(options, opt.TIMESTAMPS), own]


@mutant("OPT-9")
class FastOpenEchoesNothing(_Echoes):
    """The SYN-ACK that accepts a fast open echoes a timestamp of zero."""

    def echo(self, right: int, now: float) -> int:
        return 0 if self.fast_opened else right


@mutant("OPT-9")
class GrantEchoesItsOwnTime(_Echoes):
    """The SYN-ACK that grants a cookie echoes the server's own timestamp."""

    def echo(self, right: int, now: float) -> int:
        return self.timestamp(now) if self.asked else right


@mutant("OPT-9")
class RefusalEchoesBackwards(_Echoes):
    """The SYN-ACK that refuses a cookie echoes the timestamp in the other byte order."""

    def echo(self, right: int, now: float) -> int:
        return int.from_bytes(right.to_bytes(4, "big"), "little") if self.is_refused else right


@mutant("OPT-9", also=("AFT-6",))
class TimestampsEndWithTheSynAck(PassiveConnection):
    """Timestamps agreed on in a fast open come in the SYN-ACK, and no more before the ACK."""

    def segment_options(self, now: float, *, payload: bool) -> list[RawOption]:
        if self.fast_opened and not self.is_synchronized:
            return []
        return super().segment_options(now, payload=payload)


@mutant("OPT-9", also=("AFT-6",))
class FastOpenForgetsTheTimestamp(PassiveConnection):
    """Data sent before the ACK echoes a timestamp of zero."""

    def timestamps_option(self, now: float, *, echo: bool = True) -> RawOption:
        early = self.fast_opened and self._answered and not self.is_synchronized
        return super().timestamps_option(now, echo=echo and not early)

    _answered = False

    def send_first_syn_ack(self, now: float) -> None:
        super().send_first_syn_ack(now)
        self._answered = True


@mutant("OPT-9")
class TimestampsWithoutAgreement(PassiveConnection):
    """A fast open has timestamps in every segment, whatever was agreed."""

    def segment_options(self, now: float, *, payload: bool) -> list[RawOption]:
        out = super().segment_options(now, payload=payload)
        if self.fast_opened and not self.timestamps:
            out += [opt.nop(), opt.nop(), self.timestamps_option(now)]
        return out


@mutant("OPT-9", also=("PATH-4",))
class FullHeaderIsAnsweredCutOff(_Offers):
    """Where the SYN's options fill the header, the last one of the SYN-ACK is cut off."""

    def changed(self, options: list[RawOption], now: float) -> list[RawOption]:
        if len(self.syn.options) < opt.MAX_OPTIONS:
            return options
        self.answer = None
        return [*options[:-1], RawOption(opt.TFO, 10, b"\0\0")]
