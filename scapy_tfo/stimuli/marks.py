"""ECN on a connection that agreed to it (RFC 3168 section 6.1)."""

from __future__ import annotations

from scapy_tfo.segment import ACK, CWR, ECE, PSH, SYN
from scapy_tfo.stimuli.losses import copies
from scapy_tfo.stimuli.windows import LATER, acknowledged_one_by_one
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus
from scapy_tfo.suite.target import Service

ECT, CE = 2, 3


async def agreed(peer: Peer, service: Service | None = None) -> Flow:
    """A connection with ECN. Raises Unsupported where the target wants none."""
    flow = peer.flow(service)
    flow.syn(flags=SYN | ECE | CWR)
    syn_ack = await flow.syn_ack()
    flow.ack()
    if syn_ack.flags & (ECE | CWR) != ECE:
        raise Unsupported("the target does not agree to ECN")
    return flow


@stimulus("TCP-ECN-4", "TCP-ECN-5", needs=["echo"])
async def marks_that_nobody_agreed_on(peer: Peer) -> None:
    """A SYN that offers no ECN comes with ECT(0), or with CE, and so does the text behind it."""
    for mark in (ECT, CE):
        flow = peer.flow()
        flow.syn(traffic_class=mark)
        await flow.syn_ack()
        flow.ack(traffic_class=mark)
        data = flow.app.request()
        flow.sent.append(data)
        flow.send(ACK | PSH, data, traffic_class=mark)
        await flow.answered()
        flow.hang_up()


@stimulus("TCP-ECN-4", needs=["echo"], waits=2.0)
async def a_syn_ack_that_comes_again(peer: Peer) -> None:
    """ECN is offered, and a second SYN-ACK comes, which may no longer agree; then a request."""
    flow = peer.flow()
    flow.syn(flags=SYN | ECE | CWR)
    for number in (1, 2):
        await flow.syn_ack(f"SYN-ACK {number}", within=5.0)
    flow.ack()
    flow.request()
    await flow.answered()


@stimulus("TCP-ECN-8", "TCP-ECN-9", needs=["echo"])
async def marked_text(peer: Peer) -> None:
    """Text comes with CE, then without, then with CWR."""
    flow = await agreed(peer)
    flow.request()
    await flow.answered()
    for flags, mark in ((ACK, CE), (ACK, 0), (ACK | CWR, 0), (ACK, 0)):
        data = flow.app.request()
        flow.sent.append(data)
        flow.send(flags | PSH, data, traffic_class=mark)
        await flow.answered()


@stimulus("TCP-ECN-8", "TCP-ECN-9", needs=["echo"])
async def marked_text_with_cwr(peer: Peer) -> None:
    """Text comes with CE, and then with both CE and CWR: a mark behind the one that is answered."""
    flow = await agreed(peer)
    flow.request()
    await flow.answered()
    for flags, mark in ((ACK, CE), (ACK | CWR, CE), (ACK, 0), (ACK | CWR, 0), (ACK, 0)):
        data = flow.app.request()
        flow.sent.append(data)
        flow.send(flags | PSH, data, traffic_class=mark)
        await flow.answered()


@stimulus("TCP-ECN-10", "TCP-ECN-6", "TCP-ECN-11", needs=["listeners"])
async def echoes_of_marks(peer: Peer) -> None:
    """The ACKs of a flight tell of marks; a later flight is not acknowledged in time."""
    flow = await agreed(peer, await peer.listen("send:400000"))
    await acknowledged_one_by_one(flow, 2)
    await flow.pause(LATER)
    told = flow.heard[-1].end
    flow.send(ACK | ECE, ack=told)
    await flow.pause(0.3)
    await acknowledged_one_by_one(flow, 3, told=told)
    before = copies(flow)
    await flow.until("text once more", lambda: copies(flow) > before, within=4.0)
    flow.ack()
    await flow.pause(LATER)
