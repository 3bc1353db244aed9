"""RFC 7413 sections 4.2 and 4.2.2: handshakes that do not count as pending fast opens, or no
longer do, leave the limit as it is.
"""

from __future__ import annotations

from scapy_tfo.cases.limit_of_pending_requests import FORGED, LIMIT, full
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_LATER = 0.1
"""Seconds in which a target that delivers at once would have answered."""


@case("LIM-1", needs=["listeners"], intrusive=True)
async def forged_cookies_take_no_place(peer: Peer) -> None:
    """Many forged cookies, left half open: as many fast opens as ever are accepted after them."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    for _ in range(3 * LIMIT):
        flow = peer.flow(service)
        flow.syn(cookie=FORGED, data=flow.app.request())
        flow.must_refuse(await flow.syn_ack(), "on a forged cookie")
    for _ in range(LIMIT - 1):
        await peer.open(service, cookie=cookie)


@case("LIM-1", needs=["listeners"], intrusive=True)
async def data_with_a_request_is_refused_over_the_limit(peer: Peer) -> None:
    """Over the limit a cookie request with data is no way round it; resent, the data arrives."""
    service, _, _ = await full(peer)
    flow = peer.flow(service)
    flow.syn(cookie=b"", data=flow.app.request())
    await flow.syn_ack()
    # Plain TCP may keep the data and acknowledge it: what counts is that nobody has it yet.
    await flow.pause(_LATER)
    early = bytes(flow.stream.data)
    why = "data beside a request was delivered over the limit of pending fast opens"
    flow.require(not early, why, "no answer before the ACK", f"answer {early!r}")
    flow.resend()
    await flow.finish()


@case("LIM-7", needs=["listeners"], intrusive=True)
async def whole_conversations_are_counted_off_once(peer: Peer) -> None:
    """Fast opens that are answered, and closed by both sides, never raise the limit."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    for _ in range(3 * LIMIT):
        await (await peer.open(service, cookie=cookie)).finish()
    pending = await peer.fill(service, most=4 * LIMIT, cookie=cookie)
    peer.require(
        len(pending) <= LIMIT + 1,
        "connections that ended in order raised the limit",
        expected=f"{LIMIT} accepted, one more at most",
        actual=f"{len(pending)} accepted without an ACK",
    )
