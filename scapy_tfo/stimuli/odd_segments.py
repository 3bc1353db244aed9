"""One segment that is odd in one thing, on a connection that is not."""

from __future__ import annotations

from typing import Any

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, FIN, PSH, RST, URG
from scapy_tfo.stimuli.idle import timed
from scapy_tfo.stimuli.opening import FAR
from scapy_tfo.stimuli.resets import CROSSED, ECHOED, LATER, answered_once
from scapy_tfo.stimuli.windows import BLOCK, PIECE, pushed
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

TEXT = b"odd in one thing"
ANSWERED = 1.3
"""Seconds in which an answer that is due comes, on busy hosts too."""
STRANGE = opt.RawOption(200, 6, b"what")
"""Of a kind that nobody defined."""
AHEAD = 1 << 24
"""Bytes that no window allows."""


async def odd_text(peer: Peer, **fields: Any) -> None:
    """Text in its turn, with one thing odd."""
    flow = await answered_once(peer)
    flow.send(fields.pop("flags", ACK | PSH), TEXT, once=True, **fields)
    await flow.pause(ANSWERED)


@stimulus("TCP-URG-2", "TCP-URG-3", needs=["echo"])
async def urgent_text(peer: Peer) -> None:
    """Text comes with URG, and a pointer to its middle."""
    await odd_text(peer, flags=ACK | PSH | URG, urgent=len(TEXT) // 2)


@stimulus("TCP-URG-2", "TCP-URG-3", needs=["echo"])
async def urgent_text_of_which_more_follows(peer: Peer) -> None:
    """Text comes with URG, and a pointer to what is not sent yet."""
    await odd_text(peer, flags=ACK | PSH | URG, urgent=30_000)


@stimulus("TCP-ACK-11", needs=["echo"])
async def text_that_acknowledges_too_much(peer: Peer) -> None:
    """Text comes with an acknowledgement of what the target has not sent."""
    flow = await answered_once(peer)
    flow.send(ACK | PSH, TEXT, once=True, ack=seq.add(flow.rcv_nxt, AHEAD))
    await flow.pause(ANSWERED)


@stimulus("TCP-HDR-5", needs=["echo"])
async def text_with_a_reserved_bit(peer: Peer) -> None:
    """Text comes with a reserved bit of the header."""
    await odd_text(peer, reserved=4)


@stimulus("TCP-OPT-4", "TCP-OPT-5", needs=["echo"])
async def text_with_a_strange_option(peer: Peer) -> None:
    """Text comes with an option that nobody defined."""
    await odd_text(peer, options=[STRANGE])


@stimulus("TCP-TS-10", needs=["echo"])
async def text_with_unasked_timestamps(peer: Peer) -> None:
    """Text comes with timestamps, on a connection that did not agree to them."""
    await odd_text(peer, options=[opt.timestamps(7, 0)])


@stimulus("TCP-KEEP-5", needs=["echo"])
async def a_keepalive(peer: Peer) -> None:
    """An empty segment comes one number back."""
    flow = await answered_once(peer)
    await flow.pause(LATER)
    flow.send(ACK, seq=seq.add(flow.snd_nxt, -1))
    await flow.pause(ANSWERED)


@stimulus("TCP-SEQ-1", needs=["echo"])
async def old_text(peer: Peer) -> None:
    """A request that was answered comes once more."""
    flow = await answered_once(peer)
    text = flow.sent[-1]
    flow.send(ACK | PSH, text, seq=seq.add(flow.snd_nxt, -len(text)), once=True)
    await flow.pause(ANSWERED)


async def doubtful_text(flow: Flow, **fields: Any) -> None:
    """Text that must not be taken, and then what asks for an ACK."""
    start = flow.snd_nxt
    flow.send(fields.pop("flags", ACK | PSH), TEXT, once=True, **fields)
    await flow.pause(ANSWERED)
    flow.send(ACK, seq=seq.add(start, -1))
    await flow.pause(LATER)


@stimulus("TCP-HDR-2", needs=["echo"])
async def text_without_a_checksum(peer: Peer) -> None:
    """Text comes with a checksum field of zero, which UDP over IPv4 reads as none."""
    await doubtful_text(await answered_once(peer), checksum=0)


@stimulus("TCP-SEQ-6", needs=["echo"])
async def text_without_ack(peer: Peer) -> None:
    """Text comes without the ACK flag."""
    await doubtful_text(await answered_once(peer), flags=PSH)


@stimulus("TCP-ACK-12", needs=["echo"])
async def text_beside_a_wrong_ack(peer: Peer) -> None:
    """Text acknowledges what was not sent."""
    flow = await answered_once(peer)
    await doubtful_text(flow, ack=seq.add(flow.rcv_nxt, AHEAD))


@stimulus("TCP-SYN-15", "TCP-SYN-16", needs=["echo"])
async def a_wrong_ack_of_a_syn_ack(peer: Peer) -> None:
    """Text comes before the handshake's end, and acknowledges what was not sent."""
    flow = peer.flow()
    flow.syn()
    await flow.syn_ack()
    await doubtful_text(flow, ack=seq.add(flow.rcv_nxt, AHEAD))


async def then_text(flow: Flow, number: int) -> None:
    """Text behind a RST: see `text_after_a_rst` for what it acknowledges."""
    await flow.pause(CROSSED)
    told = seq.add(flow.rcv_nxt, -ECHOED)
    flow.send(ACK | PSH, b"after the RST", seq=number, ack=told, once=True)
    await flow.pause(LATER)


@stimulus("TCP-RST-16", needs=["echo"])
async def a_rst_with_fin(peer: Peer) -> None:
    """A RST with exactly the next number has FIN beside it, and text follows."""
    flow = await answered_once(peer)
    number = flow.snd_nxt
    flow.send(RST | FIN, seq=number)
    await then_text(flow, number)


@stimulus("TCP-PAWS-3", needs=["echo"])
async def a_rst_with_an_old_timestamp(peer: Peer) -> None:
    """A RST with exactly the next number has a timestamp from before, and text follows."""
    flow = await timed(peer)
    known = flow.timestamp
    if known is not None:
        flow.timestamp = known - 500
    flow.send(RST, seq=flow.snd_nxt)
    flow.timestamp = known
    await then_text(flow, flow.snd_nxt)


@stimulus("TCP-RST-10", needs=["listeners"])
async def a_rst_at_a_closed_window(peer: Peer) -> None:
    """A RST with exactly the next number comes while the window is closed, and text follows."""
    flow = await peer.connect(await peer.listen("never-reads"))
    pushed(flow, BLOCK // PIECE * PIECE)
    await flow.until("a closed window", lambda: flow.heard[-1].window == 0, within=3.0)
    number = flow.heard[-1].ack
    flow.send(RST, seq=number)
    await then_text(flow, number)


@stimulus("TCP-RST-8", needs=["echo"])
async def a_rst_of_a_half_open_connection(peer: Peer) -> None:
    """A RST with the next number comes instead of the handshake's ACK, and that ACK later."""
    flow = peer.flow()
    flow.syn()
    await flow.syn_ack()
    flow.send(RST, seq=flow.snd_nxt)
    await flow.pause(CROSSED)
    flow.send(ACK, ack=seq.add(flow.rcv_nxt, 1))
    await flow.pause(LATER)


@stimulus("TCP-RST-9", needs=["echo"])
async def a_rst_outside_of_the_window(peer: Peer) -> None:
    """A RST comes with a number that no window reaches, and then a request."""
    flow = await answered_once(peer)
    flow.send(RST, seq=seq.add(flow.snd_nxt, FAR))
    await flow.pause(LATER)
    flow.send(ACK | PSH, flow.app.request(), once=True)
    await flow.pause(LATER)
