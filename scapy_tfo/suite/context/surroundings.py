"""What a context makes of a simulated target, and of the link to it."""

from __future__ import annotations

from scapy_tfo.suite.context.context import Context

_LEAST_MTU_V6 = 1280
"""Bytes (RFC 8200 section 5)."""

_BELOW = {"wrap": 1 << 32, "sign": 1 << 31, "zero": 40}


def delay_in(context: Context) -> float:
    """Seconds that the link takes each way."""
    return int(context["rtt"]) / 2000


def mtu_in(context: Context, family: int) -> int:
    """The MTU of the link, in bytes. family: 4 or 6."""
    mtu = int(context["mtu"])
    return mtu if family == 4 else max(mtu, _LEAST_MTU_V6)


def isn_in(context: Context) -> int | None:
    """The number below which the target's ISNs are; None for what its stack chooses."""
    return _BELOW.get(context["iss"])
