"""SYN cookies: a handshake without a state at the server (RFC 4987 section 3.6)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import SYN, Address, Segment

MSS = {
    4: (216, 536, 980, 1220, 1300, 1440, 1452, 1460),
    6: (216, 516, 860, 1220, 1280, 1420, 1432, 1440),
}
"""Sizes in bytes that a cookie can tell, ascending."""

_PERIOD = 64.0
"""Seconds; a cookie is good in the period of its making and in the next."""

_PERIODS = 1 << 5
_MAC_BITS = 24
_SHIFT_BITS = 0x0F
_NO_SHIFT = 0x0F
_SACK = 0x10
_BITS = 6


def _mac(key: bytes, ends: tuple[Address, int, Address, int], irs: int, period: int) -> int:
    local, local_port, remote, remote_port = ends
    numbers = b"".join(
        each.to_bytes(8, "big") for each in (local_port, remote_port, irs, period % (1 << 32))
    )
    digest = hashlib.blake2s(local.packed + remote.packed + numbers, key=key, digest_size=3)
    return int.from_bytes(digest.digest(), "big")


def make(
    key: bytes, ends: tuple[Address, int, Address, int], irs: int, mss: int, now: float
) -> int:
    """The ISN that stands for a SYN: period, MSS, and a MAC over both ends and the peer's ISN.

    mss: in bytes; the largest size of `MSS` that is not above it goes in.
    """
    period = int(now // _PERIOD)
    sizes = MSS[ends[0].version]
    index = max(sum(size <= mss for size in sizes) - 1, 0)
    return period % _PERIODS << 27 | index << _MAC_BITS | _mac(key, ends, irs, period)


def check(
    key: bytes, ends: tuple[Address, int, Address, int], irs: int, cookie: int, now: float
) -> int | None:
    """The MSS in bytes that the cookie stands for; None where it is not good."""
    latest = int(now // _PERIOD)
    for period in (latest, latest - 1):
        right = cookie & (1 << _MAC_BITS) - 1 == _mac(key, ends, irs, period)
        if right and cookie >> 27 == period % _PERIODS:
            return MSS[ends[0].version][cookie >> _MAC_BITS & 7]
    return None


def stamped(timestamp: int, *, shift: int | None, sack: bool) -> int:
    """A TSval that also tells the peer's window scale, and whether SACK was agreed.

    It is the timestamp with its last six bits replaced, and so at most 63 below it.
    """
    bits = _NO_SHIFT if shift is None else shift & _SHIFT_BITS
    return timestamp >> _BITS << _BITS | bits | (_SACK if sack else 0)


def unstamped(echo: int) -> tuple[int | None, bool]:
    """The window scale, or None, and whether SACK was agreed, out of the TSecr of the ACK."""
    bits = echo & _SHIFT_BITS
    return None if bits == _NO_SHIFT else bits, bool(echo & _SACK)


def recalled_syn(ack: Segment, mss: int, times: tuple[int, int] | None) -> Segment:
    """The SYN as the ACK of its SYN cookie tells it.

    times: TSval and TSecr of the ACK, None where the timestamps tell nothing.
    """
    offered = [opt.mss(mss)]
    if times is not None:
        shift, sack = unstamped(times[1])
        offered.append(opt.timestamps(times[0]))
        offered += [opt.sack_permitted()] if sack else []
        offered += [opt.window_scale(shift)] if shift is not None else []
    block = opt.push_options(offered)
    return replace(ack, seq=seq.add(ack.seq, -1), ack=0, flags=SYN, options=block, payload=b"")
