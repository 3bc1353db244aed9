"""The options that a SYN offers, and the terms that two ends agree on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address

from scapy_tfo import option as opt
from scapy_tfo.segment import Address, Segment
from scapy_tfo.values import value

DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, where no MSS option came (RFC 9293 section 3.7.1)."""

MAX_SHIFT = 14
"""RFC 7323 section 2.3."""

_LEAST_MSS = 48
"""Bytes; less would leave no room for data beside options."""


@value(frozen=True, slots=True)
class Offer:
    """The options of a SYN or SYN-ACK; those that are unsound are left out.

    mss in bytes, window_shift capped at 14, timestamp the TSval.
    """

    mss: int | None
    window_shift: int | None
    sack: bool
    timestamp: int | None


def read_offer(segment: Segment) -> Offer:
    """Read a SYN's options; reading stops at EOL and at a malformed one (RFC 9293 3.2)."""
    shift = segment.option(opt.WINDOW_SCALE)
    permitted = segment.option(opt.SACK_PERMITTED)
    times = segment.timestamps
    return Offer(
        mss=segment.mss,
        window_shift=min(shift.data[0], MAX_SHIFT) if shift and len(shift.data) == 1 else None,
        sack=permitted is not None and not permitted.data,
        timestamp=times[0] if times else None,
    )


def mss_for(address: Address, mtu: int) -> int:
    """The largest segment in bytes, without options, that an MTU carries (RFC 9293 3.7.1)."""
    return mtu - (60 if isinstance(address, IPv6Address) else 40)


def peer_mss(offer: Offer, address: Address) -> int:
    """The MSS to respect: what was offered, or the default (RFC 9293 section 3.7.1)."""
    if offer.mss is None:
        return DEFAULT_MSS[address.version]
    return max(offer.mss, _LEAST_MSS)


def aligned(options: Iterable[opt.RawOption]) -> list[opt.RawOption]:
    """Options with NOPs before each, so that none but the last ends off a 32-bit boundary."""
    out: list[opt.RawOption] = []
    for each in options:
        if each.kind != opt.NOP:
            out += [opt.nop()] * (-len(opt.push_options([each])) % 4)
        out.append(each)
    return out


def fits(options: Iterable[opt.RawOption]) -> bool:
    """Whether the options have room in a header (RFC 9293 section 3.1)."""
    return len(opt.padded(opt.push_options(options))) <= opt.MAX_OPTIONS


def aligned_or_not(options: Sequence[opt.RawOption]) -> list[opt.RawOption]:
    """The options aligned, unless they have room only as they are."""
    out = aligned(options)
    return out if fits(out) else list(options)


def with_fast_open(
    options: Sequence[opt.RawOption], fast_open: opt.RawOption
) -> list[opt.RawOption] | None:
    """The options with Fast Open behind them; None where there is no room (paper 4.4)."""
    for candidate in ([*aligned(options), fast_open], [*options, fast_open]):
        if fits(candidate):
            return candidate
    return None
