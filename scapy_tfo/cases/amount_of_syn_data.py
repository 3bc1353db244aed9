"""RFC 7413 section 4.2.2, RFC 9293 section 3.10.7.4: the amount of SYN data acknowledged."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.cases.data_with_the_ack import loses_first_text
from scapy_tfo.segment import CWR, ECE, SYN, URG, Flags
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_SMALL = (1, 2, 3, 4, 7, 8, 255, 256, 257, 511, 512, 513, 535, 536)
"""Bytes; the last that every host takes, where the path takes them in one segment."""

_LATER = 0.2
"""Seconds in which a target that answers before the ACK has done so."""


@case("ACC-10", needs=["echo"])
async def small_amounts_are_taken_whole(peer: Peer) -> None:
    """Sizes from one byte to 536, which every host takes: all acknowledged, delivered once."""
    cookie = await peer.cookie()
    most = _room(peer, cookie)

    async def one(size: int) -> None:
        flow = peer.flow()
        flow.syn(cookie=cookie, data=bytes(97 + at % 26 for at in range(size)))
        flow.must_accept(await flow.syn_ack(), size)
        await flow.finish()

    await together(one(min(size, most)) for size in _SMALL)


@case("ACC-10", needs=["answer"])
async def more_than_our_own_mss_is_taken(peer: Peer) -> None:
    """An MSS of 100 tells what we take: a SYN with 400 bytes is taken as any other."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.mss = 100
    flow.syn(cookie=cookie, data=flow.app.request(min(400, _room(peer, cookie))))
    flow.must_accept(await flow.syn_ack(), len(flow.sent[0]))
    await flow.finish()


@case("ACC-10")
async def nothing_takes_the_acknowledgement_back(peer: Peer) -> None:
    """What follows the SYN-ACK before our ACK acknowledges the SYN's data as well."""
    flow = await peer.open()
    await flow.pause(_LATER)
    for each in flow.heard:
        flow.require(
            each.is_rst or flow.acknowledged(each) >= len(flow.sent[0]),
            "a segment behind the SYN-ACK acknowledges less than that did",
            f"an acknowledgement of the SYN and its {len(flow.sent[0])} bytes",
            str(each),
        )
    if flow.app.answers:
        await flow.finish()


def _room(peer: Peer, cookie: bytes | None) -> int:
    """Bytes of data that the path takes in a SYN with that cookie and the MSS option."""
    mss_and_cookie = opt.padded(bytes(6 + len(cookie or b"")))
    return peer.largest_segment - len(mss_and_cookie)


async def _all_that_fits(peer: Peer, cookie: bytes | None) -> None:
    """A SYN as large as the link takes; what is not acknowledged is sent again."""
    flow = peer.flow()
    flow.resends = await loses_first_text(peer)
    request = flow.app.request(_room(peer, cookie))
    flow.syn(cookie=cookie, data=request)
    syn_ack = await flow.syn_ack()
    peer.record("acknowledged", f"{flow.acknowledged(syn_ack)} of {len(request)} bytes")
    if flow.their_rcv_nxt != flow.snd_nxt:
        flow.resend()
        # An acknowledgement on text that came twice is dropped with it (RFC 9293 section 3.10.7.4).
        flow.ack()
    await flow.finish()


@case("ACC-10", needs=["answer"])
async def full_segment_with_a_cookie(peer: Peer) -> None:
    """As much data as fits beside a valid cookie: what is not acknowledged can be resent."""
    await _all_that_fits(peer, await peer.cookie())


@case("ACC-10", needs=["answer"])
async def full_segment_with_a_wrong_cookie(peer: Peer) -> None:
    """As much data as fits beside a wrong cookie: what is not acknowledged can be resent."""
    await _all_that_fits(peer, bytes(each ^ 0xFF for each in await peer.cookie()))


@case("ACC-10", needs=["answer"])
async def full_segment_without_a_cookie(peer: Peer) -> None:
    """As much data as fits in a plain SYN: what is not acknowledged can be resent."""
    await _all_that_fits(peer, None)


async def _with_bits(peer: Peer, flags: Flags = SYN, *, reserved: int = 0) -> Flow:
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie, data=flow.app.request(), flags=flags, reserved=reserved)
    await flow.syn_ack()
    flow.resend()
    return flow


@case("ACC-10", needs=["answer"])
async def syn_data_with_ecn_setup(peer: Peer) -> None:
    """ECE and CWR set, as ECN asks for (RFC 3168 section 6.1.1): delivered once."""
    await (await _with_bits(peer, SYN | ECE | CWR)).finish()


@case("ACC-10", needs=["answer"])
async def syn_data_with_reserved_bits(peer: Peer) -> None:
    """Reserved bits set, which are ignored (RFC 9293 section 3.1): delivered once."""
    await (await _with_bits(peer, reserved=0xE)).finish()


@case("ACC-10", needs=["answer"])
async def syn_data_with_an_urgent_flag(peer: Peer) -> None:
    """URG without anything urgent: never more acknowledged than sent, and all is delivered."""
    await (await _with_bits(peer, SYN | URG)).finish()
