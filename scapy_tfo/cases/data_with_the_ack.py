"""RFC 9293 section 3.10.7.4: the segment that ends the handshake may carry data like any other,
and what comes after it is plain TCP.
"""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.segment import ACK, PSH
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing, Symptom, shows
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

FORGED = bytes(range(8))
BULK = 100_000
"""Bytes: many times what a window without scaling holds back and forth at a time."""
IN_FLIGHT = 16_000
"""Bytes that may be on the way before an acknowledgement is waited for."""


@shows(missing=Symptom.SPOILS_DATA)
async def all_acknowledged(flow: Flow, but: int = 0) -> None:
    """Wait until the target has acknowledged all that was sent, but for so many bytes."""
    await flow.until(
        "an acknowledgement of what was sent",
        lambda: seq.distance(flow.their_rcv_nxt, flow.snd_nxt) <= but,
        acking=True,
    )


async def loses_first_text(peer: Peer) -> bool:
    """Whether text right behind the handshake's ACK is lost: then one copy of it proves nothing.

    It is where a proxy that answered the SYN has not reached its server yet.
    """
    flow = await peer.connect()
    flow.resends = False
    flow.request()
    try:
        await all_acknowledged(flow)
    except Missing:
        return True
    return False


async def transfer(flow: Flow, size: int) -> None:
    """Send that many bytes to an echo and get them back, byte for byte."""
    data = flow.app.request(size)
    flow.sent.append(data)
    piece = flow.mss - 40
    for at in range(0, len(data), piece):
        flow.send(ACK | PSH, data[at : at + piece])
        await all_acknowledged(flow, but=IN_FLIGHT)
    await flow.answered()


@case("AFT-1", needs=["answer"])
async def data_with_the_ack_is_answered(peer: Peer) -> None:
    """After accepted SYN data: more data on the ACK is acknowledged and answered."""
    flow = await peer.open()
    flow.resends = await loses_first_text(peer)
    flow.request()
    await all_acknowledged(flow)
    await flow.finish()


@case("AFT-1", needs=["answer"])
async def data_with_the_ack_after_a_refusal_is_answered(peer: Peer) -> None:
    """After a forged cookie: the SYN's data and more, on the ACK, is answered once."""
    flow = peer.flow()
    flow.resends = await loses_first_text(peer)
    flow.syn(cookie=FORGED, data=flow.app.request())
    syn_ack = await flow.syn_ack()
    flow.snd_nxt = syn_ack.ack
    flow.sent.append(flow.app.request())
    flow.send(ACK | PSH, b"".join(flow.sent)[flow.acknowledged(syn_ack) :])
    await all_acknowledged(flow)
    await flow.finish()


@case("AFT-1", needs=["listeners"])
async def data_with_the_ack_is_acknowledged_without_an_answer(peer: Peer) -> None:
    """Data on the ACK to an application that says nothing: acknowledged all the same."""
    flow = await peer.open(await peer.listen("mute"), data=b"first,")
    flow.resends = await loses_first_text(peer)
    flow.sent.append(b"second")
    flow.send(ACK | PSH, b"second")
    await all_acknowledged(flow)


@case("AFT-1", needs=["answer"])
async def data_past_a_gap_ends_the_handshake(peer: Peer) -> None:
    """The ACK and the first data get lost: the second data ends the handshake and waits."""
    flow = await peer.open()
    first, second = flow.rest() + flow.app.request(), flow.app.request()
    flow.send(ACK | PSH, second, seq=seq.add(flow.snd_nxt, len(first)))
    flow.sent += [first, second]
    flow.send(ACK | PSH, first)
    flow.snd_nxt = seq.add(flow.snd_nxt, len(second))
    await all_acknowledged(flow)
    await flow.finish()


@case("AFT-1", needs=["answer"])
async def data_before_the_syn_ack_was_seen_is_answered(peer: Peer) -> None:
    """Data that follows the SYN without waiting, repeated with the ACK, is answered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.resends = await loses_first_text(peer)
    first, second = flow.app.request(), flow.app.request()
    flow.syn(cookie=cookie, data=first)
    early = flow.send(PSH, second)
    flow.must_accept(await flow.syn_ack(), len(first))
    rest = flow.rest()
    flow.sent.append(rest + second)
    flow.send(ACK | PSH, rest + second, seq=seq.add(early.seq, -len(rest)))
    await flow.finish()


@case("AFT-1", needs=["answer"])
async def text_without_the_ack_flag_is_not_taken(peer: Peer) -> None:
    """Data in a segment without the ACK flag, then other data with it: that alone is answered."""
    flow = await peer.open()
    start = flow.snd_nxt
    flow.send(PSH, flow.app.request())
    flow.snd_nxt = start
    flow.request()
    await flow.finish()


@case("AFT-11", needs=["bulk"])
async def bulk_after_a_fast_open_is_echoed(peer: Peer) -> None:
    """100,000 bytes each way, right after the handshake, come back byte for byte."""
    flow = await peer.open()
    flow.ack()
    await transfer(flow, BULK)
    await flow.finish()
