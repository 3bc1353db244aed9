"""SYNs from and to groups of hosts, from far away, and many of them (RFC 9293 sections 3.4.1 and
3.9.2.3, RFC 1122 section 3.2.1.7)."""

from __future__ import annotations

from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, CWR, ECE, RST, SYN
from scapy_tfo.stimuli.windows import LATER
from scapy_tfo.suite.application import NoApp
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus
from scapy_tfo.suite.target import Service

GROUPS = {4: ip_address("224.0.0.1"), 6: ip_address("ff02::1")}
"""All hosts of a link."""
MANY = 12
CLOSED = 4
"""A port that nobody serves: it is not assigned."""
FAR = (1 << 30) + 5
"""Numbers ahead, where no window reaches."""
CROSSED = 0.3
"""Seconds in which what the ACK lets out has come."""
LONG = 3_000
"""Bytes: more than a segment."""
SMALL_MSS = {4: 700, 6: 1240}


@stimulus("TCP-ADDR-1", needs=["echo"])
async def a_syn_from_a_group(peer: Peer) -> None:
    """A SYN has the address of a group as its source."""
    if not peer.target.any_source:
        raise Unsupported("a host that is not in memory lets no such packet out to be heard")
    flow = peer.flow(sender=GROUPS[peer.family])
    flow.syn()
    await flow.pause(LATER)
    one = peer.flow(isn=flow.isn)
    one.syn()
    await one.syn_ack()


@stimulus("TCP-ADDR-2", "TCP-ADDR-5", needs=["echo"])
async def a_syn_to_a_group(peer: Peer) -> None:
    """A SYN goes to a group."""
    if not peer.target.any_source:
        raise Unsupported("a host that is not in memory hears no such packet from here")
    flow = peer.flow(receiver=GROUPS[peer.family])
    flow.syn()
    await flow.pause(LATER)


@stimulus("TCP-ADDR-3", needs=["echo"])
async def a_syn_to_a_group_and_to_one(peer: Peer) -> None:
    """A SYN goes to a group, which a host on the way may drop, and then to the target alone."""
    if not peer.target.is_ours:
        raise Unsupported("others may hear it, too: it is sent to targets of our own only")
    flow = peer.flow()
    flow.syn(dst=GROUPS[peer.family])
    await flow.pause(LATER)
    flow.again(dst=flow.target)
    await flow.syn_ack()


@stimulus("TCP-RST-6", "TCP-ISN-1", needs=["echo"])
async def the_same_ends_again(peer: Peer) -> None:
    """A connection ends by a RST; after a while its ends are used again."""
    first = await peer.connect()
    first.request()
    await first.answered()
    first.reset()
    again = peer.flow(like=first)
    await again.pause(1.5)
    again.syn()
    await again.syn_ack()


@stimulus("TCP-RST-5", needs=["echo"])
async def a_rst_to_a_listener(peer: Peer) -> None:
    """A RST comes out of nothing, and then a SYN."""
    flow = peer.flow()
    flow.send(RST, seq=5)
    await flow.pause(LATER)
    flow.send(RST | ACK, seq=5, ack=7)
    await flow.pause(LATER)


@stimulus("TCP-RST-3", "TCP-SYN-5", needs=["echo"])
async def segments_of_no_connection(peer: Peer) -> None:
    """An ACK, and text without ACK, for a port that listens; a SYN for one that does not."""
    flow = peer.flow()
    flow.send(ACK, seq=5, ack=7)
    await flow.pause(LATER)
    closed = peer.flow(Service(CLOSED, NoApp()))
    closed.syn(data=b"nobody is there")
    await closed.pause(LATER)


@stimulus("TCP-SYN-20", needs=["listeners"])
async def an_ack_of_a_syn_ack_from_afar(peer: Peer) -> None:
    """The ACK of a SYN-ACK has a number that no window reaches; the application writes first."""
    flow = peer.flow(await peer.listen("send:1000"))
    flow.syn()
    await flow.syn_ack()
    flow.send(ACK, seq=seq.add(flow.snd_nxt, FAR))
    await flow.pause(CROSSED)
    flow.ack()
    await flow.until("text", lambda: len(flow.stream.data) > 0)


@stimulus("TCP-IP-2", needs=["echo"])
async def a_syn_at_its_last_hop(peer: Peer) -> None:
    """The hop limit of a SYN has come down to one."""
    flow = peer.flow()
    flow.syn(hop_limit=1)
    await flow.syn_ack(within=4.0)


@stimulus("TCP-ISN-1", "TCP-ISN-2", "TCP-ISN-3", needs=["echo"])
async def many_connections(peer: Peer) -> None:
    """Twelve connections, one after the other."""
    for number in range(MANY):
        flow = peer.flow(isn=10_000 * number**2)
        flow.syn(options=[opt.window_scale(2), opt.sack_permitted(), opt.timestamps(5, 0)])
        await flow.syn_ack()
        await peer.wait(0.01)
        flow.hang_up()


@stimulus("TCP-ISN-4", "TCP-RTO-4", "TCP-RTO-6", "TCP-SYN-19", needs=["echo"], slow=True)
async def a_syn_ack_that_nobody_acknowledges(peer: Peer) -> None:
    """A SYN comes twice, and no ACK follows for some seconds."""
    flow = peer.flow()
    flow.syn(options=[opt.window_scale(2), opt.sack_permitted()])
    await flow.syn_ack()
    flow.again()
    await flow.pause(0.2)
    waits = peer.flow()
    waits.syn()
    await waits.pause(16.0)


@stimulus("TCP-ECN-1", "TCP-ECN-2", needs=["echo"])
async def a_syn_that_offers_ecn(peer: Peer) -> None:
    """A SYN with ECE and CWR, and one with ECE alone."""
    for flags in (SYN | ECE | CWR, SYN | ECE):
        flow = peer.flow()
        flow.syn(flags=flags)
        await flow.syn_ack()


@stimulus("TCP-TFO-2", "TCP-TFO-3", needs=["echo"])
async def a_request_for_a_cookie(peer: Peer) -> None:
    """A SYN asks for a cookie."""
    flow = peer.flow()
    flow.syn(cookie=b"")
    await flow.syn_ack()


@stimulus("TCP-MSS-4", needs=["listeners"])
async def a_small_segment_size(peer: Peer) -> None:
    """The SYN offers a small MSS: 700 bytes, or 1240 of IPv6."""
    flow = peer.flow(await peer.listen("send:20000"))
    flow.syn_with([opt.mss(SMALL_MSS[peer.family])])
    await flow.syn_ack()
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-MSS-3", "TCP-MSS-2", "TCP-TS-3", "TCP-WS-6", needs=["echo"])
async def two_connections_that_agreed_on_different_things(peer: Peer) -> None:
    """A client has a connection without any option, and one with all; both ask by turns."""
    plain, rich = peer.flow(), peer.flow()
    rich.timestamp = 1
    for flow, options in ((plain, []), (rich, rich_options(peer))):
        flow.syn_with(options)
        syn_ack = await flow.syn_ack()
        if syn_ack.timestamps is None:
            flow.timestamp = None
        flow.ack()
    for flow in (plain, rich, plain, rich):
        flow.request(LONG)
        await flow.answered()
        flow.ack()


def rich_options(peer: Peer) -> list[opt.RawOption]:
    """The options of a SYN that offers all there is."""
    size = opt.mss(peer.largest_segment)
    return [size, opt.sack_permitted(), opt.timestamps(1, 0), opt.window_scale(7)]
