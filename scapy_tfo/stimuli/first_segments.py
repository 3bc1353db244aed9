"""The first segments of a connection: what a SYN lets out, and when it comes again."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, CWR, ECE, PSH, SYN
from scapy_tfo.stimuli.idle import timed
from scapy_tfo.stimuli.losses import TEXT, copies
from scapy_tfo.stimuli.resets import answered_once
from scapy_tfo.stimuli.windows import LATER, probed
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

ROUND_TRIP = 0.5
"""Seconds."""
SMALL = 2_000
"""Bytes of a window below the first flight."""


@stimulus("TCP-MSS-2", "TCP-MSS-3", "TCP-CC-2", needs=["listeners"])
async def a_syn_without_a_segment_size(peer: Peer) -> None:
    """The SYN has no MSS option."""
    flow = peer.flow(await peer.listen("send:60000"))
    flow.syn_with([])
    await flow.syn_ack()
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-MSS-2", "TCP-MSS-3", needs=["listeners"])
async def timestamps_without_a_segment_size(peer: Peer) -> None:
    """The SYN has timestamps, which take their share of each segment, and no MSS option."""
    flow = peer.flow(await peer.listen("send:60000"))
    flow.timestamp = 1
    flow.syn_with([opt.timestamps(1, 0)])
    if (await flow.syn_ack()).timestamps is None:
        flow.timestamp = None
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-WS-6", needs=["listeners"])
async def a_small_window_that_is_not_scaled(peer: Peer) -> None:
    """The SYN has no window scale, and offers less than a first flight."""
    flow = peer.flow(await peer.listen("send:60000"))
    flow.window = SMALL
    flow.syn_with([opt.mss(1_000)])
    await flow.syn_ack()
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-WS-4", needs=["echo"])
async def a_small_window_of_a_syn(peer: Peer) -> None:
    """A fast open offers less than its answer takes, and a scale, which is not for the SYN."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.window = 20
    flow.syn(cookie, bytes(400), options=[opt.window_scale(7)])
    await flow.syn_ack()
    await flow.pause(LATER)


@stimulus("TCP-RTO-7", needs=["listeners"], waits=2.2)
async def a_long_round_trip(peer: Peer) -> None:
    """The SYN-ACK is acknowledged after half a second, and no text is, until it comes again."""
    flow = peer.flow(await peer.listen("send:1000"))
    flow.syn()
    await flow.syn_ack()
    await flow.pause(ROUND_TRIP)
    flow.ack()
    await flow.until("text once more", lambda: copies(flow) > 0, within=6.0)
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-TFO-6", needs=["echo"], slow=True)
async def a_syn_with_text_and_without_a_cookie(peer: Peer) -> None:
    """A SYN has text, and its SYN-ACK comes again by its timer."""
    flow = peer.flow()
    flow.syn(data=b"text of a SYN")
    await flow.syn_ack()
    await flow.pause(3.5)


@stimulus("TCP-TS-12", "TCP-TS-13", needs=["echo"])
async def a_gap_with_timestamps(peer: Peer) -> None:
    """Text comes behind a gap, and later what fills it, each with a timestamp of its own."""
    flow = await timed(peer)
    flow.resends = False
    text = flow.app.request(20)
    flow.sent.append(text)
    first = flow.snd_nxt
    for number in (1, 0):
        if flow.timestamp is not None:
            flow.timestamp += 100
        piece = text[10 * number :][:10]
        flow.send(ACK | PSH, piece, seq=seq.add(first, 10 * number), once=True)
        await flow.pause(LATER)
    flow.snd_nxt = seq.add(first, len(text))
    await flow.answered()


@stimulus("TCP-FIN-6", needs=["echo"], slow=True)
async def a_fin(peer: Peer) -> None:
    """All is acknowledged, and a FIN comes."""
    flow = await answered_once(peer)
    flow.ack()
    flow.fin()
    await flow.pause(6.0)
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-FIN-11", needs=["echo"])
async def text_behind_a_fin(peer: Peer) -> None:
    """Text follows a FIN."""
    flow = await answered_once(peer)
    told = flow.rcv_nxt
    flow.fin()
    await flow.pause(LATER)
    flow.send(ACK | PSH, b"behind the FIN", ack=told, once=True)
    await flow.pause(LATER)


@stimulus("TCP-ECN-7", needs=["listeners"], slow=True)
async def a_window_that_stays_closed_with_ecn(peer: Peer) -> None:
    """The window closes while text waits, on a connection with ECN."""
    flow = peer.flow(await peer.listen(TEXT))
    flow.syn(flags=SYN | ECE | CWR)
    syn_ack = await flow.syn_ack()
    flow.ack()
    if syn_ack.flags & (ECE | CWR) != ECE:
        raise Unsupported("the target does not agree to ECN")
    await probed(flow)
