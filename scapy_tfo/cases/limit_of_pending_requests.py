"""RFC 7413 sections 4.2 and 4.2.2: the limit of pending fast opens, and the fallback at it.

The standard leaves open whether the request that reaches the limit is still accepted, so a server
with a limit of n may accept n - 1, n or n + 1.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, FIN, SYN
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Missing, Refused, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

LIMIT = 4
FORGED = bytes(range(8))
MOST_PROBED = 2000
"""Fast opens that are left pending on a target whose limit is not known, at most."""


async def full(peer: Peer, app: str = "echo") -> tuple[Service, bytes, list[Flow]]:
    """A listener whose limit is reached, a cookie for it, and what is pending."""
    service = await peer.listen(app, queue=LIMIT)
    cookie = await peer.cookie(service)
    return service, cookie, await peer.fill(service, most=LIMIT + 2, cookie=cookie)


@case("LIM-1", needs=["listeners"], intrusive=True)
async def no_more_are_pending_than_the_limit(peer: Peer) -> None:
    """Listeners with limits of 1, 4 and 20 accept that many, or as many as the host allows any of
    them, and refuse the next.
    """
    counts: dict[int, int] = {}
    for limit in (1, 4, 20):
        pending = await peer.fill(await peer.small_queue(limit), most=limit + 2)
        counts[limit] = len(pending)
        peer.record(f"accepted with a limit of {limit}", len(pending))
        peer.require(
            len(pending) <= limit + 1,
            f"a limit of {limit} pending fast opens is not kept",
            expected=f"{limit} accepted, one more or less at the edge",
            actual=f"{len(pending)} accepted without an ACK",
        )
        for flow in pending:
            flow.hang_up()
    most = max(counts.values())
    for limit, count in counts.items():
        # RFC 7413 section 4.2.2 speaks of a system limit, which may be below the listener's.
        if count < min(limit, most) - 1:
            raise Refused(
                f"fewer fast opens may be pending than the limit of {limit}",
                expected=f"{limit} accepted, one more or less at the edge",
                actual=f"{count} accepted without an ACK, {most} at another listener",
            )


@case("LIM-1", needs=["listeners"], intrusive=True)
async def refused_data_is_delivered_once_when_resent(peer: Peer) -> None:
    """Over the limit the SYN alone is acknowledged; data resent with the ACK arrives once."""
    service, cookie, _ = await full(peer)
    flow = peer.flow(service)
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.must_refuse(await flow.syn_ack(), "over the limit of pending fast opens")
    flow.send(ACK, request, seq=flow.their_rcv_nxt)
    await flow.finish()


@case("LIM-1", needs=["listeners"], intrusive=True)
async def every_new_request_falls_back(peer: Peer) -> None:
    """Over the limit, twelve valid cookies in a row are all refused, and all get a SYN-ACK."""
    service, cookie, _ = await full(peer)
    for _ in range(12):
        flow = peer.flow(service)
        flow.syn(cookie=cookie, data=flow.app.request())
        flow.must_refuse(await flow.syn_ack(), "over the limit of pending fast opens")


@case("LIM-1", needs=["listeners"], intrusive=True)
async def fast_open_works_again_below_the_limit(peer: Peer) -> None:
    """All that were pending end their handshake; then as many are accepted again."""
    service, cookie, pending = await full(peer)
    for flow in pending:
        flow.ack()
        await flow.settled()
    for _ in pending:
        await peer.open(service, cookie=cookie)


@case("LIM-1", intrusive=True, crowds_main=True)
async def limit_is_found_and_kept_where_it_is_not_known(peer: Peer) -> None:
    """Fast opens pend until one is refused; an ACK for one of them lets the next one in."""
    service = await peer.small_queue(50) if peer.target.offers("listen") else peer.main
    cookie = await peer.cookie(service)
    pending = await peer.fill(service, most=MOST_PROBED, cookie=cookie)
    peer.record("accepted without an ACK", len(pending))
    if len(pending) == MOST_PROBED:
        raise Unsupported(f"no limit found: {MOST_PROBED} fast opens are pending at one time")
    await peer.still_serves(service)
    for flow in pending[:3]:
        flow.ack()
        await flow.settled()
        await peer.open(service, cookie=cookie)
    for flow in pending:
        flow.ack()


@case("LIM-1", needs=["listeners"], intrusive=True)
async def refusals_take_no_place(peer: Peer) -> None:
    """Forged cookies and refusals over the limit, left half open, do not use the limit up."""
    service, cookie, pending = await full(peer)
    # Few enough for a backlog of 16 half-open connections, which would refuse them by itself.
    for number in range(2 * LIMIT):
        flow = peer.flow(service)
        flow.syn(cookie=FORGED if number % 2 else cookie, data=flow.app.request())
        flow.must_refuse(await flow.syn_ack(), "over the limit or on a forged cookie")
    for flow in pending:
        flow.ack()
        await flow.settled()
    await peer.open(service, cookie=cookie)


@case("LIM-1", needs=["listeners"], intrusive=True)
async def retransmitted_syn_counts_once(peer: Peer) -> None:
    """A pending fast open whose SYN came many times leaves room for another."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    flow = await peer.open(service, cookie=cookie)
    for _ in range(3 * LIMIT):
        flow.send(SYN, seq=flow.isn, options=[opt.fast_open(cookie)])
    await peer.open(service, cookie=cookie)


@case("LIM-1", needs=["listeners"], intrusive=True)
async def a_plain_syn_before_the_fast_open_takes_no_place(peer: Peer) -> None:
    """A plain SYN, then a fast open on the same 4-tuple: repeated past the limit, none leaks."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)

    async def plain_then_fast() -> None:
        flow = peer.flow(service)
        flow.syn()
        await flow.syn_ack()
        flow.syn(cookie=cookie, data=flow.app.request())
        flow.ack(seq=flow.their_rcv_nxt)
        await flow.settled()
        flow.reset()

    await together(plain_then_fast() for _ in range(3 * LIMIT))
    await peer.open(service, cookie=cookie)


@case("LIM-3", needs=["listeners"], intrusive=True)
async def ack_gives_one_place_back_at_once(peer: Peer) -> None:
    """With the limit reached, each ACK lets exactly one more fast open in."""
    service, cookie, pending = await full(peer)
    for flow in pending:
        flow.ack()
        await flow.settled()
        more = await peer.fill(service, most=2, cookie=cookie)
        admitted = more[0] if more else await peer.open(service, cookie=cookie)
        taken, usual = len(admitted.sent[0]), len(flow.sent[0])
        peer.require(
            taken >= usual,
            "a fast open in a place that was given back is taken with less of its data",
            expected=f"{usual} bytes, as before the limit was reached",
            actual=f"{taken} bytes",
        )
        peer.require(
            len(more) < 2,
            "one ACK lets more than one fast open in",
            expected="one accepted, the next one refused",
            actual=f"{len(more)} accepted",
        )


@case("LIM-3", needs=["listeners"], intrusive=True)
async def ack_with_data_or_fin_gives_the_place_back(peer: Peer) -> None:
    """Whether the ACK comes alone, with data, with FIN or with both, the place is free."""
    service, cookie, pending = await full(peer)
    for at, flow in enumerate(pending):
        data = flow.app.request() if at % 2 else b""
        flow.send(ACK | FIN if at % 4 > 1 else ACK, data)
        await flow.settled()
        await peer.open(service, cookie=cookie)


@case("LIM-4", needs=["listeners"], intrusive=True)
async def plain_connections_are_served_over_the_limit(peer: Peer) -> None:
    """While the limit keeps fast open off, plain connections are taken and answered."""
    service, _, _ = await full(peer)
    for _ in range(3):
        flow = await peer.connect(service)
        flow.request()
        await flow.finish()


@case("LIM-4", needs=["listeners"], intrusive=True)
async def cookie_requests_are_served_over_the_limit(peer: Peer) -> None:
    """Over the limit a cookie request gets its SYN-ACK, and the connection is answered."""
    service, _, _ = await full(peer)
    flow = peer.flow(service)
    flow.syn(cookie=b"")
    syn_ack = await flow.syn_ack()
    peer.record("cookie granted over the limit", bool(syn_ack.cookie))
    flow.ack()
    flow.request()
    await flow.finish()


@case("LIM-5", needs=["listeners", "two_addresses"])
async def another_client_keeps_fast_open(peer: Peer) -> None:
    """One address reaches its limit; a valid cookie from another is still accepted."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service, source=1)
    await peer.fill(service, most=LIMIT + 2)
    if not await peer.accepts(cookie, service, source=1):
        raise Unsupported("one limit for all clients: the other address falls back as well")


@case("LIM-6", needs=["listeners"], intrusive=True)
async def a_flood_gets_no_more_answers_than_the_limit(peer: Peer) -> None:
    """Twenty fast opens without an ACK: data comes for no more of them than the limit."""
    service = await peer.listen("send:20000", queue=LIMIT)
    cookie = await peer.cookie(service)
    flows = [peer.flow(service) for _ in range(20)]
    for flow in flows:
        flow.syn(cookie=cookie, data=b"flood")
    for flow in flows:
        await flow.syn_ack()
    await peer.wait(0.1)
    answered = [flow for flow in flows if flow.stream.data]
    peer.record("bytes sent before any ACK", sum(len(flow.stream.data) for flow in answered))
    peer.require(
        len(answered) <= LIMIT + 1,
        "a flood gets more answers than fast opens may be pending",
        expected=f"data for {LIMIT} fast opens, one more at most",
        actual=f"data for {len(answered)}",
    )


@case("LIM-8", needs=["listeners"], intrusive=True)
async def a_full_syn_backlog_turns_fast_open_off(peer: Peer) -> None:
    """Plain SYNs left half open fill a short backlog; then a valid cookie falls back."""
    service = await peer.listen(backlog=8)
    cookie = await peer.cookie(service)
    for _ in range(32):
        peer.flow(service).syn()
    await peer.wait(0.05)
    try:
        taken = await peer.accepts(cookie, service)
    except Missing:
        raise Absent("a full backlog drops every SYN, which is allowed") from None
    if taken:
        raise Unsupported("32 half-open connections do not turn fast open off")
