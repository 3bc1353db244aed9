"""RFC 9293 section 3.9.2.2, RFC 5461, RFC 1191, RFC 8201: ICMP errors about a fast open in
SYN-RCVD. They end the connection or leave it alone; they harm neither the listener nor others.
"""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.icmp import (
    about_header,
    about_ports,
    about_udp,
    echo_reply,
    packet_too_big,
    port_unreachable,
    unreachable,
)
from scapy_tfo.lab.apps import pattern
from scapy_tfo.segment import Segment
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Inconclusive, Missing, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

ERRORS = {
    4: [(3, 0), (3, 1), (3, 2), (3, 3), (3, 10), (3, 13), (4, 0), (11, 0), (12, 0)],
    6: [(1, 0), (1, 1), (1, 3), (1, 4), (1, 5), (3, 0), (4, 0)],
}
"""Type and code: unreachable in every way, source quench, time exceeded, parameter problem."""

SMALL_MTU = {4: 600, 6: 1280}
TINY_MTU = {4: 68, 6: 100}
"""The least that IPv4 knows, and less than IPv6 allows (RFC 8201: not to be believed)."""

LEAST_IPV6 = 1000
"""Bytes: less than the 1,220 that fit into the least MTU, with all options."""

HEADERS = {4: 40, 6: 60}
SIZE = 20_000
ELSEWHERE = 1 << 24
"""Bytes off the sequence numbers in use."""


async def apart(peer: Peer) -> Service:
    """A listener of its own where there can be one: its end is told from the target's."""
    return await peer.listen() if peer.target.offers("listen") else peer.main


async def each_error(peer: Peer, shift: int) -> None:
    """A fast open for each error, which quotes the SYN-ACK with its number moved by `shift`.

    The application has had time to take the connections, as most have by then.
    """
    ended = []
    service = await apart(peer)
    cookie = await peer.cookie(service)
    flows = {error: await peer.open(service, cookie=cookie) for error in ERRORS[peer.family]}
    await peer.wait(0.1)
    for (kind, code), flow in flows.items():
        syn_ack = next(each for each in flow.heard if each.is_syn_ack)
        quoted = replace(syn_ack, seq=seq.add(syn_ack.seq, shift)).to_bytes()
        flow.send_icmp(replace(unreachable(quoted, code=code), type=kind))
        if not await peer.goes_on(flow):
            ended.append(f"{kind}/{code}")
        flow.reset()
    peer.record("the connection", f"is reset by {' '.join(ended)}" if ended else "goes on")
    await (await peer.open(service, cookie=cookie)).finish()


@case("AFT-8", needs=["answer"])
async def errors_about_the_syn_ack(peer: Peer) -> None:
    """Each error about the SYN-ACK: the connection goes on or is gone, the listener serves."""
    await each_error(peer, 0)


@case("AFT-8", needs=["answer"])
async def error_right_behind_the_syn_ack(peer: Peer) -> None:
    """An error before the application took the connection: goes on or is gone, no harm done."""
    service = await apart(peer)
    cookie = await peer.cookie(service)
    for _ in range(5):
        flow = await peer.open(service, cookie=cookie)
        flow.send_icmp(port_unreachable(flow.heard[0].to_bytes()))
        await peer.goes_on(flow)
        flow.reset()


@case("AFT-8", needs=["answer"])
async def errors_with_a_wrong_sequence_number(peer: Peer) -> None:
    """Each error, quoting a number never sent: the connection goes on or is gone, no harm."""
    await each_error(peer, ELSEWHERE)


@case("AFT-8", needs=["answer"])
async def errors_that_name_no_connection(peer: Peer) -> None:
    """Errors about UDP, or that quote no port, and an echo reply, while a fast open is pending: it
    goes on."""
    service = await apart(peer)
    cookie = await peer.cookie(service)
    flow = await peer.open(service, cookie=cookie)
    await peer.wait(0.1)
    syn_ack = next(each for each in flow.heard if each.is_syn_ack).to_bytes()
    for message in (about_header, about_udp, echo_reply):
        flow.send_icmp(message(syn_ack))
    await flow.finish()


@case("AFT-8", needs=["answer"])
async def an_error_that_quotes_the_ports_alone(peer: Peer) -> None:
    """An error that quotes four bytes behind the IP header: the connection goes on, or is gone,
    and the listener serves (RFC 5927 section 4.1)."""
    service = await apart(peer)
    cookie = await peer.cookie(service)
    flow = await peer.open(service, cookie=cookie)
    await peer.wait(0.1)
    syn_ack = next(each for each in flow.heard if each.is_syn_ack)
    flow.send_icmp(about_ports(syn_ack.to_bytes()))
    await peer.goes_on(flow)
    flow.reset()
    await (await peer.open(service, cookie=cookie)).finish()


@case("AFT-8", needs=["answer"])
async def errors_do_not_touch_other_connections(peer: Peer) -> None:
    """Errors about one fast open: another in SYN-RCVD and one beyond it are not touched."""
    service = await apart(peer)
    flow, pending, running = [await peer.open(service) for _ in range(3)]
    running.ack()
    syn_ack = next(each for each in flow.heard if each.is_syn_ack)
    for kind, code in ERRORS[peer.family]:
        flow.send_icmp(replace(unreachable(syn_ack.to_bytes(), code=code), type=kind))
    await pending.finish()
    await running.finish()
    await peer.still_serves(service)


@case("AFT-8", needs=["listeners", "two_addresses"], exclusive=True)
async def packet_too_big_makes_segments_smaller(peer: Peer) -> None:
    """Packet-too-big about the first data: it comes again, in segments that fit."""
    flow = await peer.open(await peer.listen(f"send-close:{SIZE}"), data=b"GET", source=1)
    room = SMALL_MTU[peer.family] - HEADERS[peer.family]
    start = seq.add(flow.irs or 0, 1)
    try:
        first = await flow.expect("data", lambda each: each.seq == start and bool(each.payload))
    except Missing:
        raise Absent("nothing is sent before the ACK, which is allowed") from None
    if len(first.payload) <= room:
        if await usual_size(peer) <= room:
            raise Unsupported(f"no segment of the target's has over {room} bytes, which is allowed")
        raise Inconclusive("segments are that small from the start: is the MTU remembered?")
    flow.send_icmp(packet_too_big(first.to_bytes(), mtu=SMALL_MTU[peer.family]))
    await flow.pause(0.05)
    flow.ack(ack=start)

    def smaller(each: Segment) -> bool:
        return each.seq == start and 0 < len(each.payload) <= room

    if peer.family == 6:
        await flow.expect("the data in segments that fit", smaller, within=3.2)
    await whole(flow)
    peer.record("segments become smaller", any(smaller(each) for each in flow.heard))


@case("AFT-8", needs=["listeners", "two_addresses"], exclusive=True)
async def packet_too_big_with_a_wrong_sequence_number(peer: Peer) -> None:
    """Packet-too-big about data that was never sent: the whole answer comes, in any pieces."""
    flow = await peer.open(await peer.listen(f"send-close:{SIZE}"), data=b"GET", source=1)
    first = next(each for each in flow.heard if each.is_syn_ack)
    quoted = replace(first, seq=seq.add(first.seq, ELSEWHERE), payload=bytes(1000))
    flow.send_icmp(packet_too_big(quoted.to_bytes(), mtu=SMALL_MTU[peer.family]))
    await whole(flow)


@case("AFT-8", needs=["listeners", "two_addresses"], exclusive=True)
async def packet_too_big_with_a_tiny_mtu(peer: Peer) -> None:
    """Packet-too-big with an absurd MTU: the answer comes all the same, over IPv6 undivided."""
    flow = await peer.open(await peer.listen(f"send-close:{SIZE}"), data=b"GET", source=1)
    first = next(each for each in flow.heard if each.is_syn_ack)
    flow.send_icmp(packet_too_big(first.to_bytes(), mtu=TINY_MTU[peer.family]))
    await flow.pause(0.05)
    before = len(flow.heard)
    await whole(flow)
    if peer.family == 6:
        largest = max(len(each.payload) for each in flow.heard[before:])
        flow.require(
            largest > LEAST_IPV6 or largest >= await usual_size(peer),
            "an MTU below the least of IPv6 was believed",
            f"segments of more than {LEAST_IPV6} bytes",
            f"{largest} bytes at most",
        )


async def usual_size(peer: Peer) -> int:
    """The most bytes in a segment to the other address, about which no error was told."""
    flow = await peer.open(await peer.listen(f"send-close:{SIZE}"), data=b"GET")
    await whole(flow)
    return max(len(each.payload) for each in flow.heard)


async def whole(flow: Flow) -> None:
    """End the handshake; all bytes of the pattern and FIN come."""
    flow.ack()
    await flow.until("all bytes and FIN", lambda: flow.stream.ended, acking=True)
    flow.require(
        flow.stream.data == pattern(SIZE),
        "the bytes that came are not those that were written",
        f"{SIZE} bytes of the pattern",
        f"{len(flow.stream.data)} bytes",
    )
