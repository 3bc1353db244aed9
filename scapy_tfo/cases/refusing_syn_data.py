"""RFC 7413 section 4.2.2 steps 3 and 5: data in a SYN whose cookie is wrong."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK
from scapy_tfo.seq import add
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_MADE_UP = bytes.fromhex("5ca1ab1e0ddba11f")
_LATER = 0.1
"""Seconds in which a target that delivers at once would have answered."""


async def _refused(peer: Peer, size: int = 0, *, isn: int | None = None) -> tuple[Flow, bytes]:
    """A SYN with data refused for a cookie that differs from the valid one, and the data."""
    cookie = await peer.cookie()
    flow = peer.flow(isn=isn)
    request = flow.app.request(min(size, peer.largest_segment - opt.MAX_OPTIONS))
    flow.syn(cookie=bytes(each ^ 0xFF for each in cookie), data=request)
    flow.must_refuse(await flow.syn_ack(), "on a wrong cookie")
    return flow, request


@case("ACC-3")
async def wrong_cookie_acknowledges_the_syn_only(peer: Peer) -> None:
    """A cookie with every bit turned over: the SYN-ACK acknowledges the SYN only."""
    flow, _ = await _refused(peer)
    flow.ack(seq=flow.their_rcv_nxt)


@case("ACC-3", needs=["answer"])
async def made_up_cookie_delivers_nothing_before_our_ack(peer: Peer) -> None:
    """A made-up cookie with data: no answer comes before the ACK, one comes after it."""
    flow = peer.flow()
    flow.syn(cookie=_MADE_UP, data=flow.app.request())
    await flow.syn_ack()
    await flow.pause(_LATER)
    early = bytes(flow.stream.data)
    if early:
        await peer.must_not_be_cookieless("data with a made-up cookie was delivered")
    flow.require(
        not early,
        "data was delivered on a made-up cookie",
        "no answer before the ACK",
        f"{early!r}",
    )
    flow.resend()
    await flow.finish()


@case("ACC-3")
async def a_wrong_cookie_stays_wrong(peer: Peer) -> None:
    """The same made-up cookie on one connection after the other: refused each time."""
    for _ in range(3):
        flow = peer.flow()
        flow.syn(cookie=_MADE_UP, data=flow.app.request())
        await peer.falls_back(flow, "on a made-up cookie shown again", fresh=True)


@case("ACC-3", needs=["answer"])
async def refused_data_is_delivered_once_when_resent(peer: Peer) -> None:
    """Refused data sent again in the ACK is delivered once."""
    flow, _ = await _refused(peer)
    flow.resend()
    await flow.finish()


@case("ACC-3", needs=["answer"])
async def refused_data_resent_after_the_ack(peer: Peer) -> None:
    """Refused data sent again in a segment after a bare ACK is delivered once."""
    flow, _ = await _refused(peer)
    flow.ack(seq=flow.their_rcv_nxt)
    flow.resend()
    await flow.finish()


@case("ACC-3", needs=["answer"])
async def refused_data_resent_in_two_segments(peer: Peer) -> None:
    """Refused data sent again in two halves is delivered once."""
    flow, request = await _refused(peer, 400)
    flow.resend(piece=len(request) // 2 + 1)
    await flow.finish()


@case("ACC-3", needs=["answer"])
async def refused_data_resent_byte_by_byte(peer: Peer) -> None:
    """Refused data sent again one byte at a time is delivered once."""
    flow, _ = await _refused(peer)
    flow.resend(piece=1)
    await flow.finish()


@case("ACC-3", needs=["answer"])
async def refused_data_resent_out_of_order(peer: Peer) -> None:
    """Refused data sent again with its second half first is delivered once, in order."""
    flow, request = await _refused(peer, 400)
    start, half = flow.their_rcv_nxt, len(request) // 2
    flow.send(ACK, request[half:], seq=add(start, half))
    flow.send(ACK, request[:half], seq=start)
    await flow.answered()
    await flow.finish()


@case("ACC-3", needs=["answer"])
async def refused_data_resent_twice_over(peer: Peer) -> None:
    """Refused data sent again in part, then whole with more behind it, is delivered once."""
    flow, request = await _refused(peer, 400)
    start = flow.their_rcv_nxt
    flow.send(ACK, request[:100], seq=start)
    more = flow.app.request()
    flow.sent.append(more)
    flow.send(ACK, request + more, seq=start)
    flow.snd_nxt = add(start, len(request + more))
    await flow.finish()


async def _other_data_instead(peer: Peer, was: int, now: int) -> None:
    flow, _ = await _refused(peer, was)
    flow.sent.clear()
    flow.snd_nxt = flow.their_rcv_nxt
    flow.request(now)
    await flow.finish()


@case("ACC-3", needs=["answer"])
async def refused_data_does_not_leak_before_other_data(peer: Peer) -> None:
    """Other data of the same length follows refused data: that alone is delivered."""
    await _other_data_instead(peer, 300, 300)


@case("ACC-3", needs=["answer"])
async def refused_data_does_not_leak_behind_shorter_data(peer: Peer) -> None:
    """Shorter data follows refused data: no tail of the refused data is delivered."""
    await _other_data_instead(peer, 600, 300)


@case("ACC-3", needs=["answer"])
async def refused_data_does_not_leak_into_longer_data(peer: Peer) -> None:
    """Longer data follows refused data: that alone is delivered."""
    await _other_data_instead(peer, 300, 600)


@case("ACC-3", needs=["echo"])
async def refused_data_does_not_leak_into_an_empty_stream(peer: Peer) -> None:
    """Nothing but a FIN follows refused data: the stream is empty."""
    flow, _ = await _refused(peer)
    flow.sent.clear()
    flow.snd_nxt = flow.their_rcv_nxt
    flow.ack()
    await flow.finish()
