"""Connections on which little is said (RFC 9293 sections 3.8.4 and 3.10.7.4, RFC 7323)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

LATER = 0.05
PUSHED = 1.3
"""Seconds in which what is still queued comes, on busy hosts too."""
IDLE = 4.0
"""Seconds: two ticks of the slowest clock, and what a busy host may be late."""


async def timed(peer: Peer) -> Flow:
    """A connection with timestamps, where the target agrees to them."""
    flow = peer.flow()
    flow.timestamp = 1_000
    flow.syn(options=[opt.timestamps(1_000, 0)])
    syn_ack = await flow.syn_ack()
    if syn_ack.timestamps is None:
        flow.timestamp = None
    flow.ack()
    flow.request()
    await flow.answered()
    return flow


@stimulus("TCP-ACK-10", "TCP-ACK-8", needs=["echo"])
async def acknowledgements_alone(peer: Peer) -> None:
    """Five ACKs that say nothing new, and then a request."""
    flow = await timed(peer)
    for _ in range(5):
        flow.ack()
        await flow.pause(LATER)
    flow.request()
    await flow.answered()


@stimulus("TCP-SEND-3", needs=["echo"], waits=2.6)
async def answers_that_fill_their_segments(peer: Peer) -> None:
    """Answers are as long as a full segment and as two, with a silence behind each."""
    flow = await peer.connect()
    for size in (peer.largest_segment, 2 * peer.largest_segment):
        flow.request(size)
        await flow.answered()
        flow.ack()
        await flow.pause(PUSHED)


@stimulus("TCP-TS-6", "TCP-TS-7", "TCP-KEEP-1", "TCP-RTO-16", needs=["echo"], slow=True)
async def some_seconds_of_silence(peer: Peer) -> None:
    """Nothing is said for some seconds, and then a request."""
    flow = await timed(peer)
    await flow.pause(IDLE)
    flow.request()
    await flow.answered()
