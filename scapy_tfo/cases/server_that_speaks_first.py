"""RFC 7413 sections 4.2.2 and 5.2: an application that writes on accept, and an unproven SYN.

Without a valid cookie the connection is a 3-way handshake (RFC 9293 section 3.10.5: data
written before ESTABLISHED is queued). Otherwise anyone could make it send to a spoofed address.
"""

from __future__ import annotations

from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_MADE_UP = bytes.fromhex("0ff1ce5eed5ca1ab")
_GREETING = 100
"""Bytes that the application writes as soon as it has the connection."""

_LATER = 0.2
"""Seconds in which a target that does not wait would have written."""


async def _waits(
    peer: Peer, cookie: bytes | None, why: str, data: bytes = b"?" * 16, *, again: bool = False
) -> None:
    """Demand that the greeting comes after our ACK, not before; `why` as in `falls_back`."""
    await peer.cookie()
    if await peer.takes_any_data() or await peer.takes_empty_cookies():
        raise Unsupported("the target takes data without a cookie")
    flow = peer.flow(await peer.listen(f"send:{_GREETING}"))
    flow.syn(cookie=cookie, data=data)
    await flow.syn_ack(f"a SYN-ACK {why}")
    if again:
        flow.again()
    await flow.pause(_LATER)
    early = len(flow.stream.data)
    flow.require(
        not early,
        f"the application's data was sent before the ACK {why}",
        "nothing but SYN-ACKs and ACKs before our ACK",
        f"{early} bytes of data",
    )
    flow.resend()
    await flow.until(
        f"{_GREETING} bytes of greeting", lambda: len(flow.stream.data) >= _GREETING, acking=True
    )


@case("ACC-3", needs=["listeners"])
async def greeting_waits_on_a_wrong_cookie(peer: Peer) -> None:
    """A made-up cookie with data: what the application writes on accept waits for our ACK."""
    await _waits(peer, _MADE_UP, "on a made-up cookie")


@case("ACC-3", needs=["listeners"])
async def greeting_waits_on_a_wrong_cookie_without_data(peer: Peer) -> None:
    """A made-up cookie alone: what the application writes on accept waits for our ACK."""
    await _waits(peer, _MADE_UP, "on a made-up cookie without data", b"")


@case("ACC-4", needs=["listeners"])
async def greeting_waits_on_a_request(peer: Peer) -> None:
    """A request with data: what the application writes on accept waits for our ACK."""
    await _waits(peer, b"", "on a cookie request")


@case("ACC-4", needs=["listeners"])
async def greeting_waits_on_a_plain_syn(peer: Peer) -> None:
    """Data in a plain SYN: what the application writes on accept waits for our ACK."""
    await _waits(peer, None, "on data in a plain SYN")


@case("ACC-4", needs=["listeners"])
async def greeting_waits_on_a_syn_repeated(peer: Peer) -> None:
    """A plain SYN with data, twice: what the application writes on accept waits for our ACK."""
    await _waits(peer, None, "on data in a plain SYN sent twice", again=True)
