"""SYN-ACKs that carry data, the end of the stream, or both (RFC 9293 3.10.7.3)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.clients.connection import BODY, Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, FIN, PSH

_LONG = b"more than a few bytes of it, " * 200


async def _must_ack(client: Incoming, size: int) -> None:
    """Demand an acknowledgement of that much of ours."""
    wanted = seq.add(client.isn, 1 + size)
    await client.until(
        f"an acknowledgement of {size} bytes of ours",
        lambda: not seq.before(client.their_rcv_nxt, wanted),
    )


@case("CLI-19")
async def data_in_the_syn_ack_is_delivered(server: Server) -> None:
    """The first bytes of the answer come with the SYN-ACK, the rest behind the handshake."""
    client = await server.fast_open()
    client.answer(data=client.reply()[:4])
    await client.serve()


@case("CLI-19")
async def data_in_a_syn_ack_that_refuses_is_delivered(server: Server) -> None:
    """The same where the SYN-ACK refuses the client's data: both streams arrive whole. A client may
    let the server's data pass, which then comes again."""
    client = await server.fast_open()
    client.answer(0, data=client.reply()[:4])
    ack = await client.acked()
    server.record("data in a refusal", "let pass" if ack.ack == seq.add(client.isn, 1) else "taken")
    await client.serve()


@case("CLI-19", "CLI-15")
async def data_in_a_syn_ack_that_takes_a_part(server: Server) -> None:
    """The same where a part of the client's data is taken."""
    client = await server.fast_open()
    client.answer(client.part, data=client.reply()[:4])
    await client.serve()


@case("CLI-19")
async def the_whole_answer_and_its_end_in_the_syn_ack(server: Server) -> None:
    """Answer and FIN come with the SYN-ACK for all of the data: both are acknowledged at once, and
    told to the application."""
    client = await server.fast_open()
    reply = client.reply()
    client.answer(data=reply, flags=PSH | FIN)
    await _must_ack(client, len(reply) + 1)
    await client.text()
    await client.closes()


@case("CLI-19")
async def the_end_of_the_stream_in_the_syn_ack(server: Server) -> None:
    """A FIN and nothing else with the SYN-ACK: the client's data is taken, the end told to the
    application."""
    server.need_raw_text()
    client = await server.fast_open()
    client.answer(flags=FIN)
    await _must_ack(client, 1)
    await client.text()
    await client.closes(b"")


@case("CLI-19")
async def the_end_of_the_stream_in_a_syn_ack_that_refuses(server: Server) -> None:
    """A FIN with the SYN-ACK for the SYN alone: the client sends its data all the same."""
    server.need_raw_text()
    client = await server.fast_open()
    client.answer(0, flags=FIN)
    await client.serve(b"")


@case("CLI-19")
async def data_right_behind_the_syn_ack(server: Server) -> None:
    """Six segments of the answer and its end follow the SYN-ACK before the client's ACK."""
    client = await server.fast_open()
    client.answer()
    client.speak(_LONG)
    await client.text()
    await client.closes(_LONG)


@case("CLI-19")
async def data_that_overtakes_the_syn_ack(server: Server) -> None:
    """The first bytes of the answer come a moment before the SYN-ACK: they may be dropped, and are
    sent again then."""
    client = await server.fast_open()
    ack = client.their_next(len(client.first.payload))
    client.send(ACK | PSH, client.reply()[:4], seq=seq.add(client.isn, 1), ack=ack)
    client.answer()
    await client.serve()


@case("CLI-19")
async def a_syn_ack_with_data_comes_twice(server: Server) -> None:
    """A SYN-ACK with data comes twice: the application reads it once."""
    client = await server.fast_open()
    for _ in range(2):
        client.answer(data=client.reply()[:4])
    await client.serve()


@case("CLI-19", "CLI-6a")
async def numbers_of_the_server_wrap(server: Server) -> None:
    """The server's sequence numbers pass zero within the data of its SYN-ACK."""
    client = await server.fast_open()
    client.isn = client.snd_nxt = 0xFFFFFFFE
    client.answer(data=client.reply(BODY)[:4])
    await client.serve()


@case("CLI-19", "CLI-1")
async def data_in_the_answer_to_a_request(server: Server) -> None:
    """A SYN-ACK that grants a cookie and has data: both are kept."""
    client = await server.connected()
    client.must_ask()
    client.answer(0, cookie=server.cookie, data=client.reply()[:4])
    await client.serve()
    client = await server.connected()
    client.must_use(server.cookie)
    client.answer()
    await client.serve()
