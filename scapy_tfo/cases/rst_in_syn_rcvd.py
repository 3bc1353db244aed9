"""RFC 9293 section 3.10.7.4 and RFC 5961 section 3.2: RST for a fast open in SYN-RCVD."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.cases.icmp_in_syn_rcvd import apart
from scapy_tfo.segment import ACK, RST, Flags
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

OUTSIDE = 1 << 30
"""Beyond the largest window that TCP can offer (RFC 7323 section 2.3)."""


async def is_over(peer: Peer, flow: Flow, service: Service) -> None:
    """The connection is unknown to the target, and the application's end of it is gone."""
    # Data that overtakes the RST moves the number at which it would be believed.
    await flow.settled()
    flow.ack(data=b"after the RST", once=True)
    await flow.rst("a RST for what follows the RST")
    for _ in range(20):
        session = await peer.session(flow, service)
        if session is None or session.closed:
            return
        await peer.wait(0.05)
    raise flow.missing("the end of the application's connection")


@case("AFT-9", needs=["listeners", "sessions"])
async def exact_rst_ends_the_connection(peer: Peer) -> None:
    """A RST at exactly the next number ends the connection, and the application's end."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    flow.send(RST)
    await is_over(peer, flow, service)


@case("AFT-9", needs=["listeners", "sessions"])
async def exact_rst_with_ack_ends_the_connection(peer: Peer) -> None:
    """A RST with the ACK flag at exactly the next number ends the connection just so."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    flow.send(RST | ACK)
    await is_over(peer, flow, service)


@case("AFT-9a", needs=["listeners", "sessions"])
async def exact_rst_with_text_ends_the_connection(peer: Peer) -> None:
    """A RST that carries text ends the connection like any other."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    flow.send(RST | ACK, b"gone")
    await is_over(peer, flow, service)


@case("AFT-9", needs=["listeners", "sessions"])
async def text_of_a_rst_is_not_delivered(peer: Peer) -> None:
    """A RST that carries text, whether it is believed or dropped: the text is not delivered."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    flow.send(RST | ACK, b"gone")
    await flow.settled()
    await peer.still_serves(service)
    session = await peer.session(flow, service)
    got = session.received if session else b""
    flow.require(b"gone" not in got, "a RST's text was delivered", "the SYN's data", repr(got))


async def not_believed(peer: Peer, distance: int, flags: Flags) -> None:
    """A RST that far from the next number is ignored: the conversation goes on to its end."""
    flow = await peer.open()
    flow.send(flags, seq=seq.add(flow.snd_nxt, distance))
    flow.request()
    await flow.finish()


@case("AFT-9", needs=["answer"])
async def rst_before_the_window_is_not_believed(peer: Peer) -> None:
    """A RST one below the next number is ignored."""
    await not_believed(peer, -1, RST)


@case("AFT-9", needs=["answer"])
async def rst_at_our_isn_is_not_believed(peer: Peer) -> None:
    """A RST at the number of our SYN is ignored: the SYN and its data are acknowledged."""
    flow = await peer.open()
    flow.send(RST | ACK, seq=flow.isn)
    flow.request()
    await flow.finish()


@case("AFT-9", needs=["answer"])
async def rst_at_the_first_byte_is_not_believed(peer: Peer) -> None:
    """A RST at the first byte of the SYN's data, already acknowledged, is ignored."""
    flow = await peer.open()
    flow.send(RST | ACK, seq=seq.add(flow.isn, 1))
    flow.request()
    await flow.finish()


@case("AFT-9", needs=["answer"])
async def rst_beyond_the_window_is_not_believed(peer: Peer) -> None:
    """A RST a gigabyte beyond the next number is ignored."""
    await not_believed(peer, OUTSIDE, RST | ACK)


@case("AFT-9", needs=["echo"])
async def rst_inside_the_window_is_answered_or_believed(peer: Peer) -> None:
    """A RST inside the window but not exact: the connection goes on rightly, or is gone."""
    flow = await peer.open()
    flow.send(RST | ACK, seq=seq.add(flow.snd_nxt, 100))
    await peer.goes_on(flow)
    flow.reset()
    await peer.still_serves()


@case("AFT-9", needs=["answer"])
async def rst_right_behind_the_syn_harms_nobody(peer: Peer) -> None:
    """A RST that follows the SYN without waiting: the listener goes on with fast open."""
    service = await apart(peer)
    cookie = await peer.cookie(service)
    for _ in range(2):
        flow = peer.flow(service)
        flow.syn(cookie=cookie, data=flow.app.request())
        flow.send(RST)
    await (await peer.open(service, cookie=cookie)).finish()
