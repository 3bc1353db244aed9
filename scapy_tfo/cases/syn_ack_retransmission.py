"""RFC 7413 sections 4.2.1 and 4.2.2: the contents of a retransmitted SYN-ACK."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.segment import Segment
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Cookieless, Missing
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_DOUBLED = 0.4
"""Seconds after which the first SYN-ACK comes no more, should the path double it."""

_TIMER = 3.2
"""Seconds in which the SYN-ACK timer has fired: RFC 6298 section 2 has it start at 1 s, and at 3 s
in older stacks.
"""


async def retransmitted(flow: Flow, *, within: float = _TIMER) -> Segment:
    """The SYN-ACK that the target's timer sends. Absent where there is none in time."""
    await flow.pause(_DOUBLED)
    early = {id(each) for each in flow.heard}

    def is_late(segment: Segment) -> bool:
        return segment.is_syn_ack and id(segment) not in early

    try:
        return await flow.expect("a retransmitted SYN-ACK", is_late, within=within)
    except Missing:
        raise Absent(f"no SYN-ACK is sent again within {_DOUBLED + within:.1f} s") from None


async def _wrong_cookie(peer: Peer) -> Flow:
    """A SYN with data that was refused for its cookie; the ACK is withheld."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=bytes(each ^ 0xFF for each in cookie), data=flow.app.request())
    flow.must_refuse(await flow.syn_ack(), "on a wrong cookie")
    return flow


async def _must_be_bare(flow: Flow) -> None:
    again = await retransmitted(flow)
    flow.require(
        not again.fast_open and not again.payload,
        "the retransmitted SYN-ACK is not bare",
        "a SYN-ACK with neither data nor a Fast Open option",
        str(again),
    )


@case("ACC-8", waits=1.0)
async def repeated_syn_ack_to_accepted_data_is_bare(peer: Peer) -> None:
    """Accepted data, no ACK: the SYN-ACK comes again without data or option."""
    await _must_be_bare(await peer.open())


@case("ACC-8", waits=1.0)
async def repeated_syn_ack_to_a_request_is_bare(peer: Peer) -> None:
    """A cookie request, no ACK: the SYN-ACK comes again without data or option."""
    flow = peer.flow()
    flow.syn(cookie=b"")
    if not (await flow.syn_ack()).cookie:
        raise Cookieless("the target grants no cookie when asked for one")
    await _must_be_bare(flow)


@case("ACC-8", waits=1.0)
async def repeated_syn_ack_to_a_wrong_cookie_is_bare(peer: Peer) -> None:
    """A wrong cookie, no ACK: the SYN-ACK comes again without data or option."""
    await _must_be_bare(await _wrong_cookie(peer))


@case("ACC-8a", waits=1.0)
async def repeated_syn_ack_acknowledges_accepted_data(peer: Peer) -> None:
    """Accepted data, no ACK: the SYN-ACK that comes again still acknowledges all of it."""
    flow = await peer.open()
    again = await retransmitted(flow)
    size = len(flow.sent[0])
    flow.require(
        (flow.acknowledged(again), again.seq) == (size, flow.irs),
        "the retransmitted SYN-ACK differs",
        f"sequence number {flow.irs}, the SYN and {size} bytes acknowledged",
        str(again),
    )
    await flow.finish() if flow.app.answers else flow.ack()


@case("ACC-3", waits=1.0)
async def repeated_syn_ack_to_a_wrong_cookie_acknowledges_the_syn_only(peer: Peer) -> None:
    """A wrong cookie, no ACK: the SYN-ACK that comes again acknowledges no data either."""
    flow = await _wrong_cookie(peer)
    flow.must_refuse(await retransmitted(flow), "by a retransmitted SYN-ACK")
    flow.resend()
    if flow.app.answers:
        await flow.finish()


@case("ACC-4", needs=["answer"], waits=1.0)
async def repeated_syn_ack_to_a_request_with_data(peer: Peer) -> None:
    """Data beside a cookie request, no ACK until the SYN-ACK comes again: delivered once."""
    flow = peer.flow()
    flow.syn(cookie=b"", data=flow.app.request())
    await flow.syn_ack()
    await retransmitted(flow)
    early = bytes(flow.stream.data)
    if early:
        await peer.must_not_be_cookieless("data beside a request was delivered")
    flow.require(not early, "data was delivered early", "no answer before the ACK", f"{early!r}")
    flow.resend()
    await flow.finish()


def _offers(syn_ack: Segment) -> dict[int, bytes]:
    """What a SYN-ACK agrees to, besides fast open: kinds, and the values that must not change."""
    kinds = (opt.MSS, opt.SACK_PERMITTED, opt.WINDOW_SCALE, opt.TIMESTAMPS)
    found = {kind: syn_ack.option(kind) for kind in kinds}
    return {
        kind: b"" if kind == opt.TIMESTAMPS else each.data for kind, each in found.items() if each
    }


async def _must_agree_to_the_same(flow: Flow, first: Segment) -> None:
    again = await retransmitted(flow)
    flow.require(
        _offers(again) == _offers(first),
        "the retransmitted SYN-ACK agrees to other options",
        f"options as in {first}",
        str(again),
    )


@case("OPT-9", waits=1.0)
async def repeated_syn_ack_agrees_to_the_same_options(peer: Peer) -> None:
    """Accepted data, no ACK: MSS, SACK, window scale and timestamps come again as they were."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.timestamp = 1
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request, options=[opt.sack_permitted(), opt.window_scale(7)])
    first = await flow.syn_ack()
    flow.must_accept(first, len(request))
    await _must_agree_to_the_same(flow, first)


@case("OPT-9", waits=1.0)
async def repeated_syn_ack_to_a_wrong_cookie_agrees_to_the_same_options(peer: Peer) -> None:
    """A wrong cookie, no ACK: the options beside it come again as they were."""
    flow = peer.flow()
    flow.timestamp = 1
    options = [opt.sack_permitted(), opt.window_scale(7)]
    flow.syn(cookie=bytes(8), data=flow.app.request(), options=options)
    await _must_agree_to_the_same(flow, await flow.syn_ack())
