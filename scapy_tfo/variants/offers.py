"""The options that a server agrees to, their order and padding (RFC 7323, RFC 9293 section 3.7)."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address

from scapy_tfo import option as opt
from scapy_tfo.reference.options import DEFAULT_MSS, Offer
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.segment import SYN, Flags
from scapy_tfo.variants.registry import add, variant


@variant({"window-scale-zero": "no"})
class MirrorsNoShiftOfZero(PassiveConnection):
    """An offer to scale by nothing is answered without the option."""

    def agree(self, offer: Offer) -> None:
        super().agree(replace(offer, window_shift=offer.window_shift or None))


class Shifted(PassiveConnection):
    """Windows are scaled by another shift."""

    shift = 0

    def agree(self, offer: Offer) -> None:
        super().agree(offer)
        if self.scaling:
            # Two units at least, or the window would look closed for ever.
            self.recv.shift = min(self.shift, max(self.recv.wnd.bit_length() - 2, 0))
            self.recv.wnd = min(self.recv.wnd, 0xFFFF << self.shift)


@variant({"window-shift": "0"})
class ScalesByNothing(Shifted):
    """Window scaling is agreed to with a shift of 0."""


@variant({"window-shift": "14"})
class ScalesByFourteen(Shifted):
    """Window scaling is agreed to with a shift of 14, or the most that shows the window."""

    shift = 14


@variant({"mss-size": "the default of 536 or 1220", "mss-sent": "not for the default"})
class NoMssForTheDefault(PassiveConnection):
    """The MSS is the default, and its option is left out."""

    def advertised_mss(self) -> int:
        return DEFAULT_MSS[self.local[0].version]

    def syn_ack_options(self, now: float) -> list[opt.RawOption]:
        return [each for each in super().syn_ack_options(now) if each.kind != opt.MSS]


@variant({"mss-size": "an odd number"})
class OddMss(PassiveConnection):
    """The MSS announced is 1001, or 1381 for IPv6."""

    def advertised_mss(self) -> int:
        return 1381 if isinstance(self.local[0], IPv6Address) else 1001


@variant({"mss-after-too-big": "the path's"})
class MssOfThePath(PassiveConnection):
    """A path MTU that a router told lowers the MSS that is announced."""

    def advertised_mss(self) -> int:
        return min(super().advertised_mss(), self.stack.mss_towards(self.remote[0]))


class Ordered(PassiveConnection):
    """Options in another order, without a NOP between them: padding stands at the end."""

    def ordered(self, options: list[opt.RawOption], flags: Flags) -> list[opt.RawOption]:
        """The options, which hold no NOP."""
        return options

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        if raw_options is None:
            raw_options = self.segment_options(now, payload=bool(payload))
        bare = [each for each in raw_options if each.kind != opt.NOP]
        super().transmit(number, flags, now, payload, self.ordered(bare, flags))


@variant({"option-padding": "none, padded at the end"})
class NoNopBetweenOptions(Ordered):
    """Options stand without NOPs, and are padded at the end."""


@variant({"option-order": "reversed"})
class OptionsReversed(Ordered):
    """Options stand in the opposite order."""

    def ordered(self, options: list[opt.RawOption], flags: Flags) -> list[opt.RawOption]:
        return options[::-1]


@variant({"option-order": "Fast Open first"})
class FastOpenFirst(Ordered):
    """Fast Open is the first option of a SYN-ACK."""

    def ordered(self, options: list[opt.RawOption], flags: Flags) -> list[opt.RawOption]:
        first = [each for each in options if opt.judge(each) is not None] if flags & SYN else []
        return first + [each for each in options if each not in first]


add(
    "no-timestamps",
    "Agrees to no timestamps.",
    {"timestamps-agreed": "no"},
    timestamps=False,
)
add(
    "no-window-scaling",
    "Agrees to no window scaling.",
    {"window-scale-agreed": "no"},
    window_scaling=False,
)
add("no-sack", "Agrees to no SACK.", {"sack-agreed": "no"}, sack=False)
