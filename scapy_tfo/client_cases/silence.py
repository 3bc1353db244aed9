"""SYNs that nobody answers, and SYN-ACKs that come late or twice (RFC 7413 4.2.2)."""

from __future__ import annotations

import asyncio

from scapy_tfo import seq
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, PSH, SYN
from scapy_tfo.suite.outcome import judging
from scapy_tfo.suite.receiver import shown

_RTT = 0.1
"""Seconds that a server of a known distance takes for its SYN-ACK."""

_THIRD_SYN = 8.0
"""Seconds within which a SYN comes a third time: RFC 6298 has it after three."""

_GIVEN_UP = 900.0
"""Seconds after which no client still waits for a SYN-ACK: twice what ten repetitions take of which
the first comes after 3 s."""


def _must_be_bare(client: Incoming, at: int) -> None:
    again = client.syns[at]
    with judging("CLI-5"):
        client.require(
            not again.fast_open and not again.payload,
            "the SYN is sent again with Fast Open option or data",
            "a SYN without Fast Open option and without data",
            str(again),
        )
    client.require(
        again.seq == client.first.seq,
        "the SYN is sent again with another sequence number",
        f"sequence number {client.first.seq}",
        str(again),
    )


@case("CLI-5")
async def the_syn_comes_again_without_option_and_data(server: Server) -> None:
    """When the SYN's timer fires, a plain SYN goes out; its connection loses nothing."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    _must_be_bare(client, 1)
    client.answer(0)
    await client.serve()


@case("CLI-5")
async def a_request_comes_again_without_the_option(server: Server) -> None:
    """A request for a cookie that nobody answers: the SYN that follows is a plain one."""
    client = await server.connected()
    client.must_ask()
    await client.syn_again("the SYN, sent again")
    _must_be_bare(client, 1)
    client.answer(0)
    await client.serve()


@case("CLI-5", slow=True)
async def the_third_syn_is_plain_too(server: Server) -> None:
    """Two SYNs without an answer: the third has neither option nor data, and opens."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    await client.syn_again("the SYN, sent a third time", within=_THIRD_SYN)
    _must_be_bare(client, 2)
    client.answer(0)
    await client.serve()


@case("CLI-6a", "CLI-5")
async def a_late_syn_ack_of_the_first_syn_counts(server: Server) -> None:
    """The plain SYN is on its way when the SYN-ACK for the one with data comes: that data is not
    sent again."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    client.answer()
    await client.serve()
    size = client.their_next(len(client.first.payload))
    early = [
        each
        for each in client.heard
        if each.payload and not each.flags & SYN and seq.before(each.seq, size)
    ]
    client.require(
        not early, "data that was acknowledged is sent again", "nothing of it", shown(early[:3])
    )


@case("CLI-6a", "CLI-5")
async def two_syn_acks_that_disagree(server: Server) -> None:
    """The plain SYN is answered first, and the SYN-ACK for the one with data comes behind: the data
    arrives once."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    client.answer(0)
    await client.acked()
    client.answer(late=True)
    await client.serve()


@case("CLI-6a")
async def a_syn_ack_that_comes_twice(server: Server) -> None:
    """The SYN-ACK for all of the data comes twice at once: one connection, nothing doubled."""
    client = await server.fast_open()
    client.answer()
    client.answer()
    await client.serve()


@case("CLI-6a", "CLI-6")
async def a_refusal_that_comes_twice(server: Server) -> None:
    """The SYN-ACK for the SYN alone comes twice: the data arrives once, and no RST comes."""
    client = await server.fast_open()
    client.answer(0)
    await client.acked()
    client.answer(0)
    await client.serve()


@case("CLI-6a")
async def a_syn_ack_repeated_after_the_handshake(server: Server) -> None:
    """The ACK is lost, it seems: the SYN-ACK comes again when all has been said, and the connection
    goes on."""
    client = await server.fast_open()
    client.answer()
    await client.text()
    client.answer(len(client.first.payload))
    await client.serve()


@case("CLI-5", "CLI-19")
async def data_that_overtakes_a_lost_syn_ack(server: Server) -> None:
    """The SYN-ACK is lost and the data behind it is not: the SYN comes again, and both streams
    arrive whole."""
    client = await server.fast_open()
    early = client.reply()[:4]
    begin = seq.add(client.isn, 1)
    ack = client.their_next(len(client.first.payload))
    client.send(ACK | PSH, early, seq=begin, ack=ack)
    await client.syn_again("the SYN, sent again")
    client.answer()
    await client.serve()


@case("CLI-26")
async def after_a_path_that_drops_fast_open(server: Server) -> None:
    """A fast open is lost, the plain SYN answered for the SYN alone and without a cookie: a client
    can infer that the path drops such SYNs, and its next one is a plain one."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    client.answer(0)
    await client.serve()
    client = await server.connected()
    server.record("the SYN after that", str(client.first))
    client.must_not_open_fast("on a path that seems to drop it")
    client.answer()
    await client.serve()


@case("CLI-8a")
async def a_path_that_drops_fast_open_is_avoided(server: Server) -> None:
    """Three fast opens in a row are lost, and the plain SYNs after them answered: at the fourth
    time at the latest, the client does without."""
    await server.grant()
    for _ in range(3):
        client = await server.connected()
        if not client.first.payload:
            break
        await client.syn_again("the SYN, sent again")
        client.answer(0)
        await client.serve()
    else:
        client = await server.connected()
        client.must_not_open_fast("after three were lost")
    client.answer(0)
    await client.serve()


@case("CLI-8a", "CLI-22", slow=True)
async def a_server_that_never_answered_is_not_opened_fast(server: Server) -> None:
    """Nobody answers a fast open or the SYNs after it until the client gives up: the application is
    told, and the next SYN is no fast open."""
    client = await server.fast_open()
    await server.must_be_told(client, "a server that never answered", within=_GIVEN_UP)
    client = await server.connected()
    with judging("CLI-8a"):
        client.must_not_open_fast("after no answer at all")
    client.answer()
    await client.serve()


@case("CLI-13")
async def the_syn_timer_follows_the_round_trip_time(server: Server) -> None:
    """A server 100 ms away: the timer of the next SYN is 1.5 times that, as in the paper."""
    client = await server.connected()
    client.must_ask()
    await asyncio.sleep(_RTT)
    client.answer(0, cookie=server.cookie)
    await client.serve()
    client = await server.connected()
    client.opens_fast(server.cookie)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await client.syn_again("the SYN, sent again")
    took = loop.time() - began
    server.record("the SYN comes again after", f"{took:.1f} s, the round trip {_RTT} s")
    client.answer(0)
    await client.serve()
    client.require(
        took < 5 * _RTT,
        "the SYN timer does not follow the round trip time",
        f"{1.5 * _RTT:.2f} s",
        f"{took:.1f} s",
    )
