"""SYNs that cross: both ends open, the client with data (RFC 9293 3.5, RFC 7413 4.2.2)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, Segment
from scapy_tfo.suite.outcome import Unsupported

_RESENT_WITHIN = 4.0
"""Seconds within which what crossed for nothing comes again."""
_TSVAL = 0x5A5A0001


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


@case("CLI-17")
async def a_syn_ack_of_a_crossing_that_is_lost(server: Server) -> None:
    """The SYNs cross, and the client's SYN-ACK is lost: it comes again, as it was numbered, and
    the connection opens."""
    client = await server.fast_open()
    client.cross()
    await _syn_ack(client)
    again = await client.expect(
        "the client's SYN-ACK once more", lambda each: each.is_syn_ack, within=_RESENT_WITHIN
    )
    client.require(
        (again.seq, again.ack) == (client.first.seq, seq.add(client.isn, 1)),
        "the SYN-ACK that comes again has other numbers than the SYNs",
        f"sequence number {client.first.seq}, acknowledging {seq.add(client.isn, 1)}",
        str(again),
    )
    client.send(ACK, ack=client.their_next(0))
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-17")
async def a_rst_behind_a_crossing_is_told(server: Server) -> None:
    """The SYNs cross, and we reset the connection: the application hears that it was refused."""
    client = await server.fast_open()
    client.cross()
    await _syn_ack(client)
    client.reset()
    await server.must_be_told(client, "a RST behind a SYN that crossed")


@case("CLI-17")
async def a_syn_with_timestamps_that_crosses(server: Server) -> None:
    """Both SYNs have timestamps: what the client sends behind ours echoes its value, and both
    streams arrive (RFC 7323 section 3.2)."""
    client = await server.fast_open()
    if client.first.timestamps is None:
        raise Unsupported("the client's SYN has no timestamps")
    client.cross(options=[opt.timestamps(_TSVAL, 0)])
    found = await _syn_ack(client)
    if found.timestamps is not None:
        client.require(
            found.timestamps[1] == _TSVAL,
            "the SYN-ACK echoes another timestamp than the SYN that crossed had",
            f"TSecr {_TSVAL}",
            str(found),
        )
        client.timestamp = _TSVAL
    client.send(ACK, ack=client.their_next(0))
    await client.serve(within=_RESENT_WITHIN)
