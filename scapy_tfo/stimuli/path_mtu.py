"""Routers that tell how long packets may be, about text under way (RFC 1191, RFC 8201)."""

from __future__ import annotations

from functools import partial

from scapy_tfo import option as opt
from scapy_tfo.icmp import packet_too_big
from scapy_tfo.stimuli.windows import LATER, acknowledged_one_by_one
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

LEAST_MTU, WIDER_MTU = 1280, 1400
UNLIKELY_MTU = {4: 66, 6: 700}
MINUTE = 60.0
CUT = "over IPv4 routers may cut packets"
RESENT = 1.5
"""Seconds in which what was too big has come again."""

told = partial(stimulus, needs=["listeners", "two_addresses"], slow=True, exclusive=True)
"""A host remembers the MTU for every connection with an address, which is one of its own here."""


@told("TCP-PMTU-1")
async def a_path_that_became_narrow(peer: Peer) -> None:
    """A router tells a smaller MTU about text under way, over IPv6."""
    flow = await narrowed(peer)
    await acknowledged_one_by_one(flow, 3, told=flow.rcv_nxt)


@told("TCP-PMTU-1")
async def a_path_that_became_narrow_for_timestamps(peer: Peer) -> None:
    """The same on a connection with timestamps, which take their share of each packet."""
    flow = await narrowed(peer, times=True)
    await acknowledged_one_by_one(flow, 3, told=flow.rcv_nxt)


@told("TCP-PMTU-1")
async def a_path_that_became_narrow_for_the_end(peer: Peer) -> None:
    """The same about text that is not acknowledged when the target has closed already."""
    if peer.family != 6:
        raise Unsupported(CUT)
    flow = await peer.connect(await peer.listen("send-close:4000"), source=1)
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    await flow.pause(LATER)
    tell(flow, LEAST_MTU)
    await flow.pause(2 * RESENT)
    flow.ack()


@told("TCP-PMTU-1")
async def a_path_that_became_narrow_for_two(peer: Peer) -> None:
    """A router tells two connections the same of one path, one after the other."""
    if peer.family != 6:
        raise Unsupported(CUT)
    service = await peer.listen("send:60000")
    flows = [await peer.connect(service, source=1) for _ in range(2)]
    for flow in flows:
        await acknowledged_one_by_one(flow, 2)
        await flow.pause(LATER)
    for flow in flows:
        tell(flow, LEAST_MTU)
        await flow.pause(LATER)
    await flows[0].pause(RESENT)
    for flow in flows:
        flow.ack()
        await acknowledged_one_by_one(flow, 3, told=flow.rcv_nxt)


@told("TCP-PMTU-5")
async def a_path_that_stays_narrow(peer: Peer) -> None:
    """A minute after a router told a smaller MTU there is more text to send."""
    flow = await narrowed(peer)
    told = await acknowledged_one_by_one(flow, 3, told=flow.rcv_nxt)
    await flow.pause(MINUTE)
    flow.ack()
    await acknowledged_one_by_one(flow, 3, told=told)


@told("TCP-PMTU-1", "TCP-PMTU-4")
async def a_second_router_that_tells_more(peer: Peer) -> None:
    """Behind that another one tells a larger MTU, which is no reason to send more."""
    flow = await narrowed(peer)
    told = await acknowledged_one_by_one(flow, 1, told=flow.rcv_nxt)
    await flow.pause(LATER)
    tell(flow, WIDER_MTU)
    await flow.pause(RESENT)
    await acknowledged_one_by_one(flow, 3, told=told)


@told("TCP-PMTU-6")
async def a_second_router_that_tells_the_same(peer: Peer) -> None:
    """Behind that another one tells the same MTU."""
    flow = await narrowed(peer)
    told = await acknowledged_one_by_one(flow, 1, told=flow.rcv_nxt)
    await flow.pause(2 * LATER)
    tell(flow, LEAST_MTU)
    await flow.pause(2 * LATER)
    await acknowledged_one_by_one(flow, 2, told=told)


@told("TCP-PMTU-2", "TCP-PMTU-3")
async def a_router_that_tells_less_than_any_path(peer: Peer) -> None:
    """A router tells an MTU that no path has, about text under way."""
    flow = await peer.connect(await peer.listen("send:60000"), source=1)
    told = await acknowledged_one_by_one(flow, 2)
    await flow.pause(LATER)
    tell(flow, UNLIKELY_MTU[peer.family])
    await flow.pause(RESENT)
    await acknowledged_one_by_one(flow, 3, told=told)


async def narrowed(peer: Peer, *, times: bool = False) -> Flow:
    """A connection whose path became narrow while text was under way, and that knows it. times:
    with timestamps, where the target agrees."""
    if peer.family != 6:
        raise Unsupported(CUT)
    flow = peer.flow(await peer.listen("send:60000"), source=1)
    flow.timestamp = 1 if times else None
    flow.syn(options=[opt.timestamps(1, 0)] if times else [])
    if (await flow.syn_ack()).timestamps is None:
        flow.timestamp = None
    flow.ack()
    await acknowledged_one_by_one(flow, 2)
    await flow.pause(LATER)
    tell(flow, LEAST_MTU)
    await flow.pause(RESENT)
    flow.ack()
    return flow


def tell(flow: Flow, mtu: int) -> None:
    """A router says that the last text was too big."""
    last = next(each for each in flow.heard[::-1] if each.payload)
    flow.send_icmp(packet_too_big(last.to_bytes(), mtu=mtu))
