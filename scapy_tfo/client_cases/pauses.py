"""Pauses in which a client does no fast open, or does not ask (RFC 7413 4.1.3.1 and 4.2.1)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, RST
from scapy_tfo.suite.concurrently import at_once

_MOST_REFUSALS = 3
"""Fast opens of one path that are refused until a client must have backed off."""


async def _refuse_until_it_pauses(server: Server) -> Incoming:
    """Refuse its fast opens; the first connection that is none, served."""
    for _ in range(_MOST_REFUSALS + 1):
        client = await server.connected()
        client.answer(0)
        await client.serve()
        option = client.option
        if not client.first.payload or option is None or not option.cookie:
            return client
    client.must_not_open_fast(f"after {_MOST_REFUSALS} refusals")
    return client


@case("CLI-8a")
async def a_pause_is_longer_than_one_connection(server: Server) -> None:
    """Behind refusals come connections without fast open: two more, right after the first, are
    none either, though nothing was wrong with it."""
    await server.grant()
    await _refuse_until_it_pauses(server)
    for _ in range(2):
        client = await server.connected()
        client.must_not_open_fast("right after a pause began")
        client.answer(0)
        await client.serve()


@case("CLI-24", "CLI-8a")
async def three_hosts_that_refuse_are_left_alone(server: Server) -> None:
    """Three hosts refuse in turn: each of them is left alone behind that, and a fourth is not."""
    every = (server, *server.siblings(3))

    async def granted(each: Server) -> None:
        await each.grant()

    await at_once(granted(each) for each in every)
    for each in every[:3]:
        await _refuse_until_it_pauses(each)
    for each in every[:3]:
        client = await each.connected()
        client.must_not_open_fast("after refusals")
        client.answer(0)
        await client.serve()
    client = await every[3].connected()
    client.must_use(every[3].cookie)
    client.answer()
    await client.serve()


@case("CLI-12a")
async def a_server_that_grants_nonsense_is_left_alone_for_a_while(server: Server) -> None:
    """Two requests are answered with a cookie of seven bytes, which is none: the connection right
    after them asks for nothing."""
    for _ in range(2):
        client = await server.connected()
        client.answer(0, options=[opt.fast_open(server.random.randbytes(7))])
        await client.serve()
    client = await server.connected()
    client.require(
        not client.first.fast_open,
        "a server that granted no valid cookie is asked again at once",
        "a SYN without Fast Open option",
        str(client.first),
    )
    client.answer(0)
    await client.serve()


@case("CLI-14", "OPT-4")
async def a_cookie_on_a_rst_leaves_the_cached_one(server: Server) -> None:
    """A connection whose data was taken is reset by a RST with a cookie: the cached one is the one
    that is used, if one is."""
    client = await server.fast_open()
    client.answer()
    await client.text()
    other = server.random.randbytes(8)
    client.send(RST | ACK, options=[opt.fast_open(other)])
    await server.must_be_told(client, "a RST behind the handshake")
    client = await server.connected()
    client.must_use_no_other(server.cookie, "the cookie of a RST is used")
    client.answer()
    await client.serve()
