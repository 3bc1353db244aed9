"""Schedules in which one thing is odd, at each of its many levels: ports, addresses, sizes."""

from __future__ import annotations

from collections.abc import Iterator

from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.ends.context import ALONE, context_of
from scapy_tfo.explore.ends.opening import GOOD, OF, PLAIN, relative_of
from scapy_tfo.segment import Address

SIZES = tuple(
    sorted(
        {
            *range(1, 9),
            *(edge + near for edge in (16, 64, 128, 256, 512, 1024, 2048) for near in (-1, 0, 1)),
            # Of segments: the default, and full ones with and without options.
            *(edge + near for edge in (536, 1220, 1440, 1460) for near in (-12, -1, 0, 1)),
            *(edge + near for edge in (2920, 4096, 65535) for near in (-1, 0, 1)),
        }
    )
)
"""Bytes that a client writes."""

_DAYS = "steps:write-100,wait-2160000000,write-100,end"
"""A client that is idle for 25 days, after which its timestamps are taken for nothing (RFC 7323
section 5.5)."""

_BITS = {4: 32, 6: 128}
_RESERVED = 240
"""First byte of addresses of IPv4 that no host has (RFC 1112 section 4)."""


def alone() -> list[Schedule]:
    """All of them, each by itself: with fast open and without."""
    made = [
        Schedule(opening, context=((name, level),))
        for name, levels in ALONE.items()
        if name != "address"
        for level in levels
        for opening in (PLAIN, GOOD)
    ]
    made += [Schedule(opening, client=f"write:{n}") for n in SIZES for opening in (PLAIN, GOOD)]
    made += [Schedule(opening, client=_DAYS) for opening in (PLAIN, GOOD)]
    return made + list(_addresses())


def _addresses() -> Iterator[Schedule]:
    """Each bit of the client's address: connections from there, and with its cookie."""
    for family, bits in _BITS.items():
        context = () if family == 4 else (("family", str(family)),)
        client = context_of(context).client
        for bit in range(bits):
            if not is_of_a_host(relative_of(client, bit)):
                continue
            yield Schedule(f"{OF}{bit}", context=context)
            for opening in (PLAIN, GOOD):
                yield Schedule(opening, context=(*context, ("address", str(bit))))


def is_of_a_host(address: Address) -> bool:
    """Whether one host elsewhere can have the address."""
    odd = address.is_multicast or address.is_unspecified or address.is_loopback
    return not odd and not (address.version == 4 and address.packed[0] >= _RESERVED)
