"""Data of the SYN that is acknowledged in part or not at all comes again (RFC 7413 4.2.2)."""

from __future__ import annotations

from scapy_tfo.clients.reception import Server
from scapy_tfo.clients.registry import case


@case("CLI-6", "CLI-6a")
async def refused_data_is_sent_again(server: Server) -> None:
    """A SYN-ACK for the SYN alone: the data comes with the ACK that ends the handshake, once."""
    client = await server.fast_open()
    client.answer(0)
    ack = await client.acked()
    client.require(
        ack.payload == client.first.payload,
        "the refused data does not come with the first ACK",
        f"{len(client.first.payload)} bytes",
        f"{len(ack.payload)} bytes",
    )
    await client.serve()


@case("CLI-15")
async def only_the_rest_of_partly_taken_data_is_sent_again(server: Server) -> None:
    """A SYN-ACK for the SYN and 40 of 100 bytes: the other 60 come again, and no byte twice."""
    client = await server.fast_open()
    client.answer(40)
    ack = await client.acked()
    client.require(
        ack.seq == client.their_next(40),
        "the data is not continued where the SYN-ACK left off",
        f"a segment from byte 40 on ({len(client.first.payload) - 40} bytes)",
        str(ack),
    )
    await client.serve()


@case("CLI-5")
async def the_syn_comes_again_without_option_and_data(server: Server) -> None:
    """When the SYN's timer fires, a plain SYN goes out; its connection loses nothing."""
    client = await server.fast_open()
    again = await client.syn_again("the SYN, sent again")
    client.require(
        not again.fast_open and not again.payload,
        "the SYN is sent again with Fast Open option or data",
        "a SYN without Fast Open option and without data",
        str(again),
    )
    client.answer(0)
    await client.serve()
