"""Effects of one server's answer on other servers, and on its other ports (RFC 7413 4.1.3.1)."""

from __future__ import annotations

from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.suite.concurrently import at_once
from scapy_tfo.suite.outcome import judging


async def _granted(server: Server) -> None:
    await server.grant()


async def _refused(server: Server, times: int = 1) -> None:
    """Refuse fast opens, as long as they come."""
    for _ in range(times):
        client = await server.connected()
        client.answer(0)
        await client.serve()


async def _accepted(server: Server) -> None:
    client = await server.connected()
    client.must_use_no_other(server.cookie, "a cookie that this server never granted is used")
    with judging("CLI-24"):
        client.must_use(server.cookie)
    client.answer()
    await client.serve()


@case("CLI-24", "CLI-2")
async def a_refusal_of_one_host_is_no_other_one_s(server: Server) -> None:
    """Of six hosts two refuse and one loses the fast open; the three others go on being opened
    fast behind each of them."""
    # No more than four hosts at a time are any that a client has to remember.
    refusing, other, silent, *working = server.siblings(6)
    await at_once(_granted(each) for each in working)
    for bad in (refusing, other, silent):
        await bad.grant()
        client = await bad.connected()
        if bad is silent:
            await client.syn_again("the SYN, sent again")
        client.answer(0)
        await client.serve()
        for each in working:
            await _accepted(each)


@case("CLI-24", "CLI-8a")
async def hosts_that_refuse_are_left_alone(server: Server) -> None:
    """Of three hosts two refuse three times: at the fourth time, the client does without there."""
    every = (server, *server.siblings(2))
    await at_once(_granted(each) for each in every)
    for each in every[:2]:
        await _refused(each, 3)
        await _accepted(every[2])
    for each in every[:2]:
        client = await each.connected()
        client.must_not_open_fast("after refusals")
        client.answer(0)
        await client.serve()


@case("CLI-8a")
async def after_a_refusal_no_fast_open(server: Server) -> None:
    """Data that is not acknowledged, and no new cookie: the next SYN is no fast open."""
    await server.grant()
    await _refused(server)
    client = await server.connected()
    client.must_not_open_fast("after its data was refused")
    client.answer(0)
    await client.serve()


@case("CLI-9")
async def a_refusal_on_one_port_leaves_another(server: Server) -> None:
    """A refusal on port 80 does not keep the client from a fast open to port 81."""
    cookie = await server.grant()
    await _refused(server)
    other = server.sibling(port=81)
    client = await other.connected()
    client.must_use(cookie)
    client.answer()
    await client.serve()


@case("CLI-24", "CLI-6a")
async def connections_at_the_same_time_to_one_host(server: Server) -> None:
    """Four ports of a host, at the same time, by one cookie: taken, taken in part, refused and
    without an answer at first. Each text arrives once."""
    await server.grant()
    ports = [server.sibling(port=each) for each in (81, 82, 83, 84)]

    async def one(each: Server, at: int) -> None:
        client = await each.connected()
        if at == 3:
            await client.syn_again("the SYN, sent again")
        size = len(client.first.payload)
        client.answer((size, size // 2, 0, 0)[at])
        await client.serve()

    await at_once(one(each, at) for at, each in enumerate(ports))
