"""SYNs that cross: both ends open, the client with data (RFC 9293 3.5, RFC 7413 4.2.2)."""

from __future__ import annotations

from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, Segment

_RESENT_WITHIN = 4.0
"""Seconds within which what crossed for nothing comes again."""


async def _syn_ack(client: Incoming) -> Segment:
    return await client.expect("the client's SYN-ACK for our SYN", lambda each: each.is_syn_ack)


@case("CLI-17", "CLI-6a")
async def a_syn_that_crosses_a_fast_open(server: Server) -> None:
    """Our SYN crosses, and takes nothing of the client's data: it comes again, once."""
    client = await server.fast_open()
    client.cross()
    await _syn_ack(client)
    client.send(ACK, ack=client.their_next(0))
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-17", "CLI-6a")
async def a_syn_that_crosses_and_takes_the_data(server: Server) -> None:
    """Our SYN crosses, and our SYN-ACK takes the client's data: both streams arrive once."""
    client = await server.fast_open()
    client.cross()
    await _syn_ack(client)
    client.answer()
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-17", "CLI-19")
async def two_syns_with_data(server: Server) -> None:
    """Both SYNs have data: the client's is taken, ours comes again unless it was, and both
    applications read each byte once."""
    client = await server.fast_open()
    client.cross(client.reply()[:4])
    await _syn_ack(client)
    client.answer()
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-17")
async def a_syn_that_crosses_a_request(server: Server) -> None:
    """Our SYN crosses a request for a cookie: the connection opens as any other."""
    client = await server.connected()
    client.must_ask()
    client.cross()
    await _syn_ack(client)
    client.send(ACK, ack=client.their_next(0))
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-17", "CLI-5")
async def a_syn_that_crosses_the_second_one(server: Server) -> None:
    """Our SYN crosses the plain one that follows a lost fast open: the data arrives once."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    client.cross()
    found = await _syn_ack(client)
    client.require(
        found.seq == client.first.seq,
        "the client's SYN-ACK has another sequence number than its SYN",
        f"sequence number {client.first.seq}",
        str(found),
    )
    client.send(ACK, ack=client.their_next(0))
    await client.serve(within=_RESENT_WITHIN)
