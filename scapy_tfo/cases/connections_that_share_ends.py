"""RFC 9293 sections 3.4.1 and 3.10.7: both addresses and both ports identify a connection."""

from __future__ import annotations

from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case


async def _accepted(flow: Flow, cookie: bytes) -> None:
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))


@case("ACC-2", needs=["answer", "two_addresses"])
async def two_clients_with_one_port(peer: Peer) -> None:
    """Fast opens from two addresses and one source port, both pending: each has its own answer."""
    cookies = [await peer.cookie(source=source) for source in (0, 1)]
    for isns in ((None, None), (7413, 7413)):
        flows = peer.two_clients(isns)
        for flow, cookie in zip(flows, cookies, strict=True):
            await _accepted(flow, cookie)
        for flow in flows:
            await flow.finish()


@case("ACC-2", needs=["answer", "two_addresses"])
async def plain_client_and_fast_one_with_one_port(peer: Peer) -> None:
    """A plain handshake under way, a fast open from another address on its port: both go on."""
    cookie = await peer.cookie(source=1)
    plain, fast = peer.two_clients()
    plain.syn()
    await plain.syn_ack("a SYN-ACK to a plain SYN")
    await _accepted(fast, cookie)
    await fast.finish()
    plain.request()
    await plain.finish()


@case("ACC-2", needs=["answer", "second_port"])
async def one_client_port_to_two_listeners(peer: Peer) -> None:
    """Fast opens from one address and port to two listeners, both pending: each has its answer."""
    second = peer.target.second
    cookies = [await peer.cookie(), await peer.cookie(second)]
    here = peer.flow()
    there = peer.flow(second, port=here.sport)
    for flow, cookie in zip((here, there), cookies, strict=True):
        await _accepted(flow, cookie)
    for flow in (here, there):
        await flow.finish()
