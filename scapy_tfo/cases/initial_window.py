"""RFC 7413 section 4.2.2 step 6: the amount that a server may send before the client's ACK."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.seq import add, distance
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_LATER = 0.2
"""Seconds in which a target sends what it may send at once."""

_ANSWER = 60_000
"""Bytes that the application writes on accept: over every window here."""


def _sent(flow: Flow) -> int:
    """Bytes of its stream that the target has sent, up to the last one seen."""
    if flow.irs is None:
        return 0
    first = add(flow.irs, 1)
    ends = [distance(first, add(each.seq, each.length)) for each in flow.heard if each.payload]
    return max(ends, default=0)


async def _stays_within(
    peer: Peer, *, window: int = 65535, mss: int = 0, options: Sequence[RawOption] = ()
) -> None:
    """A fast open to an application with a long answer, its ACK withheld.

    window: the field of our SYN, which is never scaled (RFC 7323 section 2.2). mss: of our SYN.
    """
    service = await peer.listen(f"send:{_ANSWER}")
    cookie = await peer.cookie(service)
    flow = peer.flow(service)
    flow.window, flow.mss = window, mss or flow.mss
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request, options=options)
    flow.must_accept(await flow.syn_ack(), len(request))
    await flow.pause(_LATER)
    # RFC 6928 section 2. A closed window may be probed with a byte (RFC 9293 section 3.8.6.1).
    initial = min(10 * flow.mss, max(2 * flow.mss, 14600))
    limit = min(max(window, 1), initial)
    sent = _sent(flow)
    peer.record("sent before the ACK", f"{sent} bytes of {limit}")
    flow.require(
        sent <= limit,
        "more was sent before the ACK than the windows allow",
        f"at most {limit} bytes (window {window}, MSS {flow.mss})",
        f"{sent} bytes",
    )


@case("ACC-7", needs=["listeners"])
async def initial_window_of_full_segments(peer: Peer) -> None:
    """A wide window: at most ten segments come before the ACK."""
    await _stays_within(peer)


@case("ACC-7", needs=["listeners"])
async def initial_window_of_small_segments(peer: Peer) -> None:
    """An MSS of 536: at most ten segments of that size come before the ACK."""
    await _stays_within(peer, mss=536)


@case("ACC-7", needs=["listeners"])
async def initial_window_of_tiny_segments(peer: Peer) -> None:
    """An MSS of 100: at most ten segments of that size come before the ACK."""
    await _stays_within(peer, mss=100)


@case("ACC-7", needs=["listeners"])
async def window_of_5000_before_the_ack(peer: Peer) -> None:
    """A window of 5000 bytes in the SYN: no more comes before the ACK."""
    await _stays_within(peer, window=5000)


@case("ACC-7", needs=["listeners"])
async def window_of_1000_before_the_ack(peer: Peer) -> None:
    """A window of 1000 bytes in the SYN, less than a segment: no more comes before the ACK."""
    await _stays_within(peer, window=1000)


@case("ACC-7", needs=["listeners"])
async def window_of_one_byte_before_the_ack(peer: Peer) -> None:
    """A window of one byte in the SYN: no more comes before the ACK."""
    await _stays_within(peer, window=1)


@case("ACC-7", needs=["listeners"])
async def closed_window_before_the_ack(peer: Peer) -> None:
    """A window of zero in the SYN: nothing but a probe comes before the ACK."""
    await _stays_within(peer, window=0)


@case("ACC-7", needs=["listeners"])
async def window_of_the_syn_is_not_scaled(peer: Peer) -> None:
    """A window of 1000 with a scale of 7: 1000 bytes may come before the ACK, not 128,000."""
    await _stays_within(peer, window=1000, options=[opt.window_scale(7)])
