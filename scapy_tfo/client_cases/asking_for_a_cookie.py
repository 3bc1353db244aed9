"""Requests for a cookie: before any fast open, and only when allowed (RFC 7413 4.2.1)."""

from __future__ import annotations

from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server


@case("CLI-1")
async def the_first_syn_asks(server: Server) -> None:
    """The first SYN to a server never heard of asks for a cookie, by an empty option."""
    client = await server.connected()
    client.must_ask_and_no_more()
    client.answer(0, cookie=server.cookie)
    await client.serve()


@case("CLI-1", "CLI-6a")
async def a_client_without_a_cookie_does_not_open_fast(server: Server) -> None:
    """A server that knows nothing of fast open: none of four connections does a fast open, and
    each delivers its data once."""
    for _ in range(4):
        client = await server.connected()
        client.must_not_open_fast("without a cookie")
        client.answer(0)
        await client.serve()


@case("CLI-1", "CLI-3")
async def every_server_is_asked(server: Server) -> None:
    """A cookie of one server opens no connection to another: that is asked for one of its own."""
    await server.grant()
    for other in server.siblings(2):
        client = await other.connected()
        client.must_ask()
        client.answer(0, cookie=other.cookie)
        await client.serve()


@case("CLI-1")
async def a_request_whose_connection_fails_is_made_again(server: Server) -> None:
    """A RST in answer to the request for a cookie: the application is told, and the next
    connection opens."""
    client = await server.connected()
    client.must_ask()
    client.refuse()
    await server.must_be_told(client, "a RST in answer to its request")
    client = await server.connected()
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


@case("CLI-18")
async def a_cookie_nobody_asked_for_opens_nothing_without_leave(server: Server) -> None:
    """A SYN-ACK with a cookie for an application that did not ask: the next one that does not ask
    either gets plain TCP."""
    for _ in range(2):
        client = await server.connected(ask=False)
        client.must_be_plain("without the application's leave")
        client.answer(0, cookie=server.cookie)
        await client.serve()


@case("CLI-12", "CLI-6a")
async def a_request_that_is_not_answered(server: Server) -> None:
    """A SYN-ACK without a cookie: the connection is a plain one that loses nothing; what the next
    SYN carries is recorded."""
    client = await server.connected()
    client.must_ask()
    client.answer(0)
    await client.serve()
    client = await server.connected()
    server.record("the SYN after a request without an answer", str(client.first))
    client.answer(0)
    await client.serve()


@case("CLI-12a")
async def a_server_that_grants_nothing_is_left_alone_for_a_while(server: Server) -> None:
    """Two requests without an answer, in whatever form: the connection right after them asks for
    nothing."""
    for _ in range(2):
        client = await server.connected()
        client.answer(0)
        await client.serve()
    client = await server.connected()
    client.require(
        not client.first.fast_open,
        "a server that granted nothing is asked again at once",
        "a SYN without Fast Open option",
        str(client.first),
    )
    client.answer(0)
    await client.serve()
