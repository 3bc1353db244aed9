"""Tells apart what a target sends for a connection and for an earlier one on the same port.

A target that did not take our RST still has the connection of a program that is over. To the SYN
of the next program on that port it answers for the old connection: with an ACK that says what it
expects there (RFC 9293 section 3.10.7.4, first and fourth step), or with what it had sent before.
That is no answer to the SYN, and says nothing about what the program is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.segment import ACK

DISTURBED = "an earlier connection on its port answered"
"""Why a program is not judged that an earlier one was in the way of."""

TRIES = 3
"""Ports on which a program is tried before it stays without a judgement."""

_MASK = 0xFFFFFFFF
_IPV4 = 0x45
_ACK_AT = {True: 28, False: 48}
"""Where the acknowledgement number stands, behind an IPv4 header without options or an IPv6 one
without extensions."""
_FLAGS_AFTER = 5
"""Bytes from there to the flags."""


class Earlier:
    """The numbers of the last connection on each 4-tuple.

    Keys are destination address and both ports, as they stand in what the target sends.
    """

    def __init__(self) -> None:
        self._last: dict[bytes, tuple[int, int]] = {}

    def remember(self, keys: Sequence[bytes], links: Sequence[Connection]) -> None:
        """The connections of a program that is over."""
        for key, link in zip(keys, links, strict=True):
            self._last[key] = link.isn, link.outbound.sent_end

    def numbers(self, key: bytes) -> tuple[int, int] | None:
        """Our ISN on this 4-tuple before, and how many numbers were used; None the first time."""
        return self._last.get(key)


def answers(packet: bytes, earlier: tuple[int, int], link: Connection) -> bool:
    """Whether a segment acknowledges what the earlier connection sent, and nothing of this one.

    packet: an IP packet with TCP, without IP options. earlier: as `Earlier.numbers` has it.
    """
    at = _ACK_AT[packet[0] == _IPV4]
    if len(packet) <= at + _FLAGS_AFTER or not packet[at + _FLAGS_AFTER] & ACK:
        return False
    number = int.from_bytes(packet[at : at + 4], "big")
    isn, end = earlier
    if not 0 < number - isn & _MASK <= end:
        return False
    # A wrong target may acknowledge a number below or above what was sent on this one.
    here = number - link.isn & _MASK
    return _NEAR < here < _MASK - _NEAR


_NEAR = 1 << 22
"""Numbers beside our ISN that a wrong target may confuse with it."""
