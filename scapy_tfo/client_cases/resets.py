"""RSTs in answer to a fast open, and RSTs that come later (RFC 9293 3.10.7.3)."""

from __future__ import annotations

import asyncio

from scapy_tfo import seq
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, PSH, RST


@case("CLI-22", "CLI-8a")
async def a_rst_in_answer_to_a_fast_open_is_told(server: Server) -> None:
    """The application hears of a RST in answer to its SYN; the next connection opens, in whatever
    way, and delivers."""
    client = await server.fast_open()
    client.refuse()
    await server.must_be_told(client, "a RST in answer to a fast open")
    client = await server.connected()
    server.record("the SYN after a RST", str(client.first))
    client.answer()
    await client.serve()


@case("CLI-22")
async def a_rst_of_another_number_is_not_believed(server: Server) -> None:
    """A RST that acknowledges what was never sent ends nothing, and is not answered by another: the
    SYN-ACK behind it opens the connection."""
    client = await server.fast_open()
    beyond = client.their_next(len(client.first.payload) + 1000)
    client.send(RST | ACK, seq=0, ack=beyond, window=0)
    client.send(RST, seq=client.isn, window=0)
    await asyncio.sleep(0.05)
    client.require(
        not client.was_reset, "a RST is answered by a RST", "silence", "a RST of the client's"
    )
    client.answer()
    await client.serve()


@case("CLI-22")
async def a_rst_behind_an_accepted_fast_open_is_told(server: Server) -> None:
    """The connection is reset when its data has been taken: the application is told."""
    client = await server.fast_open()
    client.answer()
    await client.acked()
    client.reset()
    await server.must_be_told(client, "a RST behind the handshake")


@case("CLI-22")
async def a_rst_behind_a_refused_fast_open_is_told(server: Server) -> None:
    """The connection is reset when its data has come a second time: the application is told."""
    client = await server.fast_open()
    client.answer(0)
    await client.text()
    client.reset()
    await server.must_be_told(client, "a RST behind a refusal")


@case("CLI-22", "CLI-19")
async def a_rst_behind_part_of_the_answer_is_told(server: Server) -> None:
    """The connection is reset behind some of the answer: the application does not take that for
    the whole."""
    client = await server.fast_open()
    client.answer()
    await client.text()
    client.send(ACK | PSH, client.reply()[:4])
    await client.until(
        "an acknowledgement of part of our answer",
        lambda: not seq.before(client.their_rcv_nxt, seq.add(client.isn, 5)),
    )
    client.reset()
    await server.must_be_told(client, "a RST within the answer")
