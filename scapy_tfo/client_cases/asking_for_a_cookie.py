"""Whether a client asks before it opens fast, and only where it may (RFC 7413 4.2.1)."""

from __future__ import annotations

from scapy_tfo.clients.reception import Server
from scapy_tfo.clients.registry import case


@case("CLI-1")
async def the_first_syn_asks(server: Server) -> None:
    """The first SYN to a server never heard of asks for a cookie, and carries no data."""
    client = await server.connected()
    client.must_ask()
    client.require(
        not client.first.payload,
        "data beside a request for a cookie",
        "a SYN without data",
        f"{len(client.first.payload)} bytes",
    )
    client.answer(0, cookie=server.cookie)
    await client.serve()


@case("CLI-2")
async def a_granted_cookie_is_used(server: Server) -> None:
    """The next connection to that server brings the cookie back, with data beside it."""
    cookie = await server.grant()
    client = await server.connected()
    client.must_use(cookie)
    client.answer(cookie=None)
    await client.serve()


@case("CLI-18")
async def an_application_that_does_not_ask_gets_plain_tcp(server: Server) -> None:
    """Without the application's leave there is neither option nor data in the SYN, cookie or no
    cookie."""
    client = await server.connected(ask=False)
    client.must_be_plain("without the application's leave")
    client.answer(0)
    await client.serve()
    await server.grant()
    client = await server.connected(ask=False)
    client.must_be_plain("without the application's leave, with a cookie at hand")
    client.answer(0)
    await client.serve()
