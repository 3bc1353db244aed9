"""RFC 7413 sections 2, 3 and 4.2: data in a SYN without a cookie, and a cookie without data."""

from __future__ import annotations

from scapy_tfo.seq import add
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_LATER = 0.1
"""Seconds in which a target that delivers at once would have answered."""


async def _not_delivered_yet(peer: Peer, flow: Flow, why: str) -> None:
    """Wait for the SYN-ACK, and demand that no answer comes before our ACK.

    Both readings stand side by side: a server that needs no cookie (RFC 7413 section 7.3) may
    deliver at once, any other may not.
    """
    await flow.syn_ack(f"a SYN-ACK to data {why}")
    await flow.pause(_LATER)
    early = bytes(flow.stream.data)
    if early:
        await peer.must_not_be_cookieless(f"data {why} was delivered")
    flow.require(
        not early, f"data {why} was delivered", "no answer before the ACK", f"answer {early!r}"
    )


@case("ACC-4", needs=["answer"])
async def data_without_an_option_waits_for_the_ack(peer: Peer) -> None:
    """Data in a plain SYN: no answer before the ACK, and one after it."""
    flow = peer.flow()
    flow.syn(data=flow.app.request())
    await _not_delivered_yet(peer, flow, "in a plain SYN")
    flow.resend()
    await flow.finish()


@case("ACC-4", needs=["answer"])
async def data_beside_a_request_waits_for_the_ack(peer: Peer) -> None:
    """Data beside a cookie request: no answer before the ACK, and one after it."""
    flow = peer.flow()
    flow.syn(cookie=b"", data=flow.app.request())
    await _not_delivered_yet(peer, flow, "beside a cookie request")
    flow.resend()
    await flow.finish()


@case("ACC-4", needs=["answer"])
async def data_without_an_option_is_delivered_once_with_more(peer: Peer) -> None:
    """Data in a plain SYN, what was not acknowledged resent in pieces, more behind it."""
    flow = peer.flow()
    flow.syn(data=flow.app.request(500))
    await flow.syn_ack()
    flow.resend(piece=100)
    flow.request()
    await flow.finish()


@case("ACC-4", needs=["answer"])
async def data_without_an_option_is_delivered_once_when_all_is_resent(peer: Peer) -> None:
    """Data in a plain SYN sent again whole, whatever was acknowledged, is delivered once."""
    flow = peer.flow()
    request = flow.app.request()
    flow.syn(data=request)
    await flow.syn_ack()
    flow.send(data=request, seq=add(flow.isn, 1))
    # Where all of it was taken before, that segment may be dropped with its acknowledgement.
    flow.ack()
    await flow.finish()


@case("ACC-4", needs=["sessions"])
async def data_without_a_cookie_dies_with_the_handshake(peer: Peer) -> None:
    """Data in a plain SYN, then RST: the application never sees it."""
    service = await peer.listen()
    flow = peer.flow(service)
    flow.syn(data=flow.app.request())
    await flow.syn_ack()
    flow.reset()
    await peer.still_serves(service)
    seen = await peer.session(flow, service)
    if seen is not None and seen.received:
        await peer.must_not_be_cookieless("data in a plain SYN was delivered")
    flow.require(
        seen is None or not seen.received,
        "data without a cookie was delivered though the handshake was given up",
        "no session, or an empty one",
        str(seen),
    )


@case("ACC-5")
async def cookie_without_data_acknowledges_the_syn(peer: Peer) -> None:
    """A valid cookie and no data: a SYN-ACK that acknowledges the SYN."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie)
    await flow.syn_ack("a SYN-ACK to a valid cookie without data")
    flow.ack()


@case("ACC-5", needs=["answer"])
async def cookie_without_data_then_data_in_the_ack(peer: Peer) -> None:
    """A valid cookie and no data, then a request in the ACK: it is answered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.request()
    await flow.finish()


@case("ACC-5", needs=["answer"])
async def cookie_without_data_then_data_after_the_ack(peer: Peer) -> None:
    """A valid cookie and no data, a bare ACK, then two requests: each is answered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.ack()
    flow.request(300)
    await flow.answered()
    flow.request(300)
    await flow.finish()


@case("ACC-5", needs=["sessions"])
async def cookie_without_data_is_one_empty_session(peer: Peer) -> None:
    """A valid cookie, no data, then FIN: one session, nothing received, its end told once."""
    service = await peer.listen()
    cookie = await peer.cookie(service)
    flow = peer.flow(service)
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.ack()
    await flow.finish()
    seen = [each for each in await peer.sessions(service) if each.peer[1] == flow.sport]
    flow.require(
        [(each.received, each.eof) for each in seen] == [(b"", 1)],
        "the application saw something else than one empty stream",
        "one session, nothing received, one end of stream",
        str(seen),
    )
