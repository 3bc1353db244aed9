"""Text out of turn, and text that comes twice (RFC 2018, RFC 2883)."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, PSH
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

LATER = 0.05
PIECE = 10
TRICKLES, BETWEEN = 7, 0.3
"""Pieces, and seconds between them: less than an ACK may wait."""
SMALLEST, FULL, APART = 536, 32, 0.03
"""Bytes, where no MSS is offered; full segments; seconds between them."""


async def with_sack(peer: Peer) -> Flow:
    """A connection that offered SACK, on which each segment goes out once."""
    flow = peer.flow()
    flow.resends = False
    flow.syn(options=[opt.sack_permitted()])
    await flow.syn_ack()
    flow.ack()
    return flow


async def in_pieces(flow: Flow, numbers: Sequence[int], *, apart: float = LATER) -> None:
    """A request comes in pieces, which have these numbers in the order in which they come, and is
    answered. apart: seconds between them."""
    last = max(numbers)
    text = flow.app.request((1 + last) * PIECE)
    flow.sent.append(text)
    first = flow.snd_nxt
    for number in numbers:
        piece = text[number * PIECE :] if number == last else text[number * PIECE :][:PIECE]
        flow.send(ACK | PSH, piece, seq=seq.add(first, number * PIECE), once=True)
        await flow.pause(apart)
    flow.snd_nxt = seq.add(first, len(text))
    await flow.answered()


@stimulus("TCP-SACK-4", "TCP-SACK-5", "TCP-SACK-6", needs=["echo"])
async def gaps_and_copies(peer: Peer) -> None:
    """Two gaps, an ACK, both gaps filled, and a piece that comes twice more."""
    flow = await with_sack(peer)
    await in_pieces(flow, (1, 3, 5, 0, 2, 4, 4, 4))
    flow.request()
    await flow.answered()


@stimulus("TCP-SACK-3", needs=["echo"])
async def a_piece_that_waits_comes_again(peer: Peer) -> None:
    """Two pieces wait behind gaps; the first of them comes once more, and then the rest."""
    flow = await with_sack(peer)
    await in_pieces(flow, (1, 3, 1, 0, 2, 4), apart=BETWEEN)


@stimulus("TCP-SACK-2", "TCP-SACK-3", needs=["echo"])
async def pieces_that_touch(peer: Peer) -> None:
    """Behind two gaps pieces come by turns that touch what is there, and then the rest."""
    flow = await with_sack(peer)
    await in_pieces(flow, (2, 6, 3, 7, 1, 5, 8, 0, 4))


@stimulus("TCP-TS-1", "TCP-SACK-3", needs=["echo"])
async def more_gaps_than_reports_beside_timestamps(peer: Peer) -> None:
    """Pieces come behind five gaps, on a connection with timestamps and SACK, and then the rest."""
    flow = peer.flow()
    flow.resends = False
    flow.timestamp = 1_000
    flow.syn(options=[opt.sack_permitted(), opt.timestamps(1_000, 0)])
    if (await flow.syn_ack()).timestamps is None:
        flow.timestamp = None
    flow.ack()
    await in_pieces(flow, (1, 3, 5, 7, 9, 0, 2, 4, 6, 8, 10))


@stimulus("TCP-SACK-2", "TCP-SACK-5", needs=["echo"])
async def text_of_which_a_part_has_come(peer: Peer) -> None:
    """Text comes whose first half has come before; and text behind a gap, whose end has."""
    flow = await with_sack(peer)
    text = flow.app.request(10 * PIECE)
    flow.sent.append(text)
    first = flow.snd_nxt
    for start, end in ((0, 4), (2, 6), (8, 9), (7, 9), (6, 10)):
        piece = text[start * PIECE :] if end == 10 else text[start * PIECE : end * PIECE]
        flow.send(ACK | PSH, piece, seq=seq.add(first, start * PIECE), once=True)
        await flow.pause(LATER)
    flow.snd_nxt = seq.add(first, len(text))
    await flow.answered()


@stimulus("TCP-SEQ-1", "TCP-SACK-1", needs=["echo"])
async def a_gap_without_sack(peer: Peer) -> None:
    """Text comes behind a gap, and then fills it, where SACK was not offered."""
    flow = await peer.connect()
    flow.resends = False
    text = flow.app.request(2 * PIECE)
    flow.sent.append(text)
    first = flow.snd_nxt
    flow.send(ACK | PSH, text[PIECE:], seq=seq.add(first, PIECE), once=True)
    await flow.pause(LATER)
    flow.send(ACK | PSH, text[:PIECE], seq=first, once=True)
    flow.snd_nxt = seq.add(first, len(text))
    await flow.answered()


@stimulus("TCP-SEQ-4", "TCP-ACK-3", needs=["echo"])
async def early_text_that_overlaps(peer: Peer) -> None:
    """Text that came early is in part in what fills the gap before it, at either of its ends, and
    as a whole."""
    flow = await peer.connect()
    flow.resends = False
    for pieces in (((2, 6), (0, 4)), ((2, 4), (0, 6)), ((3, 5), (1, 4), (4, 6), (0, 2))):
        text = flow.app.request(6 * PIECE)
        flow.sent.append(text)
        first = flow.snd_nxt
        for start, end in pieces:
            piece = text[start * PIECE :] if end == 6 else text[start * PIECE : end * PIECE]
            flow.send(ACK | PSH, piece, seq=seq.add(first, start * PIECE), once=True)
            await flow.pause(LATER)
        flow.snd_nxt = seq.add(first, len(text))
        await echoed(flow)


@stimulus("TCP-ACK-9", needs=["echo"])
async def pieces_before_their_turn(peer: Peer) -> None:
    """Three times a piece comes before the one in front of it; what is not kept comes again."""
    flow = await peer.connect()
    flow.resends = False
    for _ in range(3):
        text = flow.app.request(2 * PIECE)
        flow.sent.append(text)
        first, later = flow.snd_nxt, seq.add(flow.snd_nxt, PIECE)
        flow.send(ACK | PSH, text[PIECE:], seq=later, once=True)
        await flow.pause(LATER)
        flow.send(ACK | PSH, text[:PIECE], seq=first, once=True)
        await flow.pause(LATER)
        flow.snd_nxt = seq.add(first, len(text))
        if flow.their_rcv_nxt != flow.snd_nxt:
            flow.send(ACK | PSH, text[PIECE:], seq=later, once=True)
        await flow.answered()


@stimulus("TCP-ACK-4", needs=["listeners"], waits=2.0)
async def a_trickle_of_text(peer: Peer) -> None:
    """A full segment, and then some bytes each three tenths of a second, to an application that
    has written all and reads on."""
    flow = await peer.connect(await peer.listen("half-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    for size in (peer.largest_segment, *[PIECE] * TRICKLES):
        flow.sent.append(bytes(size))
        flow.send(ACK, flow.sent[-1])
        await flow.pause(BETWEEN)
    await flow.until("an ACK of all", lambda: flow.their_rcv_nxt == flow.snd_nxt)


@stimulus("TCP-ACK-5", needs=["listeners"], waits=1.0)
async def full_segments_one_by_one(peer: Peer) -> None:
    """Full segments come thirty milliseconds apart, to an application that writes nothing."""
    flow = await peer.connect(await peer.listen("mute"))
    size = next(each for each in flow.heard if each.is_syn_ack).mss or SMALLEST
    for _ in range(FULL):
        flow.sent.append(bytes(min(size, peer.largest_segment)))
        flow.send(ACK, flow.sent[-1])
        await flow.pause(APART)
    await flow.until("an ACK of all", lambda: flow.their_rcv_nxt == flow.snd_nxt)


async def echoed(flow: Flow) -> None:
    """Wait for the echo, which tells what the application got."""
    try:
        await flow.answered()
    finally:
        written, came = b"".join(flow.sent), bytes(flow.stream.data)
        flow.conduct.got(came + written[len(came) :], written)
