"""RFC 7413 sections 4.1.1, 4.1.2, 4.2.1: the granting of cookies, and where they are valid."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo import option as opt
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Cookieless, Refused, Unsupported
from scapy_tfo.suite.peer import GRANT_PAUSE, Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

_ASKED_AGAIN = 2
"""Times, before a request counts as not granted."""

FORGED = b"\x5a\xa5" * 4


async def _accepted(peer: Peer, cookie: bytes, service: Service | None = None) -> Flow:
    """A flow whose data is accepted on the strength of the cookie; Refused where it is not."""
    flow = peer.flow(service)
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    return flow


async def granted(peer: Peer, ask: Callable[[Flow], object], why: str) -> bytes:
    """The cookie in the SYN-ACK to a request that `ask` sends, `why` says in what form.

    Where none comes it is asked for again, one request at a time, since a server may grant few in
    a second. None at all is taken for a full queue at first: raises Refused.
    """
    flow = peer.flow()
    ask(flow)
    cookie = (await flow.syn_ack(f"a SYN-ACK to a cookie request {why}")).cookie
    for _ in range(_ASKED_AGAIN if not cookie else 0):
        async with peer.turn:
            await peer.wait(GRANT_PAUSE)
            flow = peer.flow()
            ask(flow)
            cookie = (await flow.syn_ack(f"a SYN-ACK to a cookie request {why}")).cookie
        if cookie:
            break
    if not cookie:
        raise Refused(
            f"no cookie was granted to a request {why}",
            expected="a SYN-ACK with a cookie, as to a request of the usual form",
            actual="a SYN-ACK without one",
            packets=flow.cited,
            flow=flow.name,
        )
    return cookie


@case("SRV-9")
async def a_request_is_granted(peer: Peer) -> None:
    """A SYN with an empty option is answered with a cookie."""
    peer.record("bytes of cookie", len(await peer.cookie()))


@case("SRV-9")
async def a_request_with_data_is_granted(peer: Peer) -> None:
    """A SYN with an empty option and data is answered with a cookie too."""
    await peer.cookie()
    await granted(peer, lambda flow: flow.syn(cookie=b"", data=flow.app.request()), "with data")


@case("ACC-4", "SRV-9", needs=["answer"])
async def a_request_with_data_is_no_fast_open(peer: Peer) -> None:
    """Data beside a request, two times: not accepted early, delivered once."""
    for which in ("a", "a second"):
        flow = peer.flow()
        flow.syn(cookie=b"", data=flow.app.request())
        await peer.falls_back(flow, f"on {which} cookie request", fresh=True)


@case("SRV-8")
async def a_cookie_has_4_to_16_bytes(peer: Peer) -> None:
    """The cookie in answer to a request has 4 to 16 bytes, an even number of them."""
    flow = peer.flow()
    flow.syn(cookie=b"")
    found = (await flow.syn_ack()).fast_open
    if not found:
        raise Cookieless("the target grants no cookie when asked for one")
    for each in found:
        broken = each.reason if isinstance(each, opt.Broken) else ""
        flow.require(not broken, "a cookie of illegal length", "4 to 16 bytes, even", broken)


async def _only_in_the_syn_ack(flow: Flow) -> None:
    """Demand that nothing but a SYN-ACK brings the option, in a whole conversation."""
    flow.ack()
    if flow.app.answers:
        flow.request(1000)
        await flow.finish()
    for each in flow.heard:
        flow.require(
            each.is_syn_ack or not each.fast_open,
            "the option came on a segment that is no SYN-ACK",
            "no Fast Open option after the SYN-ACK",
            str(each),
        )


@case("SRV-8")
async def a_granted_cookie_comes_in_the_syn_ack_only(peer: Peer) -> None:
    """After a request, no segment but the SYN-ACK carries the option."""
    flow = peer.flow()
    flow.syn(cookie=b"")
    await flow.syn_ack()
    await _only_in_the_syn_ack(flow)


@case("SRV-8")
async def a_fresh_cookie_comes_in_the_syn_ack_only(peer: Peer) -> None:
    """After a made-up cookie, no segment but the SYN-ACK carries the option."""
    flow = peer.flow()
    flow.syn(cookie=FORGED)
    await flow.syn_ack()
    await _only_in_the_syn_ack(flow)


@case("SRV-8")
async def an_accepted_fast_open_gets_no_cookie_later(peer: Peer) -> None:
    """After an accepted fast open, no segment but the SYN-ACK carries the option."""
    await _only_in_the_syn_ack(await peer.open())


@case("SRV-1")
async def a_cookie_is_good_for_the_client_that_asked(peer: Peer) -> None:
    """Cookie, then data with it on a new connection: accepted and answered, five times over."""
    for _ in range(5):
        flow = await _accepted(peer, await peer.cookie())
        if flow.app.answers:
            await flow.finish()


@case("SRV-3")
async def a_cookie_is_good_from_any_source_port(peer: Peer) -> None:
    """Cookies asked for from one port are accepted from others, several at a time."""

    async def one() -> None:
        (await _accepted(peer, await peer.cookie())).hang_up()

    await together(one() for _ in range(8))


@case("SRV-1")
async def a_cookie_is_good_in_any_traffic_class(peer: Peer) -> None:
    """A cookie asked for in one traffic class (RFC 2474) is accepted in others, and back."""
    for granted, used in ((0, 0x28), (0x28, 0), (0x28, 0xB8)):
        cookie = await peer.cookie(traffic_class=granted)
        flow = peer.flow()
        request = flow.app.request()
        flow.syn(cookie=cookie, data=request, traffic_class=used)
        flow.must_accept(await flow.syn_ack(), len(request))
        flow.hang_up()


@case("SRV-3", needs=["second_port"])
async def a_cookie_is_good_on_another_port(peer: Peer) -> None:
    """A cookie got on one listener is accepted on another of the same host, both ways."""
    second = peer.target.second
    theirs = await peer.cookie(second)
    await _accepted(peer, await peer.cookie(), second)
    await _accepted(peer, theirs, peer.main)


@case("SRV-5", "SRV-1")
async def a_fresh_cookie_beside_a_refusal_is_good(peer: Peer) -> None:
    """If the refusal of a made-up cookie brings another, data with that one is accepted."""
    flow = peer.flow()
    flow.syn(cookie=FORGED, data=flow.app.request())
    syn_ack = await flow.syn_ack()
    if flow.acknowledged(syn_ack):
        raise Unsupported("a made-up cookie is accepted")
    if not syn_ack.cookie:
        raise Absent("a refused cookie is not answered with a fresh one")
    await _accepted(peer, syn_ack.cookie)


@case("SRV-5", "SRV-1")
async def a_fresh_cookie_comes_for_any_wrong_length(peer: Peer) -> None:
    """Made-up cookies of 4, 6, ... 16 bytes: whatever fresh cookie comes is good."""
    fresh = {}
    for size in range(opt.MIN_COOKIE, opt.MAX_COOKIE + 1, 2):
        flow = peer.flow()
        flow.syn(cookie=(FORGED * 2)[:size])
        fresh[size] = (await flow.syn_ack()).cookie
    answered = ", ".join(str(size) for size in fresh if fresh[size])
    peer.record("bytes of made-up cookie that are answered with a fresh one", answered or "none")
    if not any(fresh.values()):
        raise Absent("a refused cookie is not answered with a fresh one")
    for each in set(fresh.values()) - {None, b""}:
        await _accepted(peer, each or b"")


@case("SRV-11")
async def two_cookies_of_one_client_are_good_at_once(peer: Peer) -> None:
    """Two cookies asked for one after the other: where they differ, both are accepted."""
    first, second = await peer.cookie(), await peer.cookie()
    peer.record("asked twice", "the same cookie" if first == second else "two cookies")
    if first == second:
        raise Unsupported("the target gives a client one cookie at a time")
    try:
        for cookie in (first, second):
            await _accepted(peer, cookie)
    except Refused:
        raise Unsupported("a new cookie ends the life of the one before") from None
