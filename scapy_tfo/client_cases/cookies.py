"""A client keeps, uses and replaces the cookies it is granted (RFC 7413 4.1.3 and 4.2.2)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.suite.concurrently import at_once
from scapy_tfo.suite.outcome import Unsupported, judging

_LENGTHS = (4, 6, 8, 10, 12, 14, 16)


async def _used(server: Server, cookie: bytes, *, new: bytes | None = None) -> None:
    """A fast open with that cookie, whose data is taken; `new` is granted."""
    client = await server.connected()
    client.must_use(cookie)
    client.answer(cookie=new)
    await client.serve()


@case("CLI-2")
async def cookies_of_every_length_are_used(server: Server) -> None:
    """Cookies of 4 to 16 bytes, each from a server of its own, come back as they were granted."""

    async def one(each: Server, size: int) -> None:
        cookie = each.random.randbytes(size)
        await each.grant(cookie)
        await _used(each, cookie)

    # One after the other: a client may remember few servers.
    sizes = server.some(_LENGTHS)
    for each, size in zip(server.siblings(len(sizes)), sizes, strict=True):
        await one(each, size)


@case("CLI-2")
async def a_cookie_is_used_more_than_once(server: Server) -> None:
    """Three connections in a row open fast by one cookie."""
    cookie = await server.grant()
    for _ in range(3):
        await _used(server, cookie)


@case("CLI-2")
async def any_bytes_are_a_cookie(server: Server) -> None:
    """Cookies of zeros, of ones, and with a zero or the byte that ends options inside."""
    cookies = (bytes(8), b"\xff" * 8, b"\x01\x00\x02\x00\x03\x00\x22\x02", b"\x22\x0a" * 4)

    async def one(each: Server, cookie: bytes) -> None:
        await each.grant(cookie)
        await _used(each, cookie)

    await at_once(one(*each) for each in zip(server.siblings(4), cookies, strict=True))


@case("CLI-2")
async def a_cookie_is_found_anywhere_among_the_options(server: Server) -> None:
    """A cookie behind other options, behind NOPs, or in front of the MSS."""
    around = (
        ((opt.sack_permitted(), opt.window_scale(7)), ()),
        ((opt.nop(), opt.nop(), opt.nop()), (opt.nop(),)),
        ((), (opt.mss(1200), opt.nop(), opt.window_scale(2))),
    )

    async def one(each: Server, before: tuple[opt.RawOption, ...], at: int) -> None:
        client = await each.connected()
        client.must_ask()
        options = (*before, client.granting(each.cookie), *around[at][1])
        client.answer(0, options=options, with_mss=at != 2)
        await client.serve()
        await _used(each, each.cookie)

    await at_once(one(each, around[at][0], at) for at, each in enumerate(server.siblings(3)))


@case("CLI-2", "CLI-3")
async def each_server_gets_its_own_cookie_back(server: Server) -> None:
    """Three servers with a cookie each: none of them sees that of another."""
    every = (server, *server.siblings(2))
    await at_once(_granted(each) for each in every)
    for each in every:
        await _used(each, each.cookie)


async def _granted(server: Server) -> None:
    await server.grant()


@case("CLI-3")
async def a_cookie_is_good_for_every_port(server: Server) -> None:
    """A cookie from one port of a host opens a connection to another port of it."""
    cookie = await server.grant()
    await _used(server.sibling(port=81), cookie)


@case("CLI-7", "CLI-3")
async def a_new_cookie_with_taken_data_replaces_the_cached_one(server: Server) -> None:
    """Each fast open is answered with a new cookie of another length, which the next one uses."""
    cookie = await server.grant()
    for size in (16, 4, 10, 8):
        new = server.random.randbytes(size)
        await _used(server, cookie, new=new)
        cookie = new


@case("CLI-7", "CLI-3")
async def a_new_cookie_with_refused_data_replaces_the_cached_one(server: Server) -> None:
    """A refusal that brings a new cookie: the old one is never used again. A client may do
    without fast open for a while, too."""
    client = await server.fast_open()
    new = server.random.randbytes(8)
    client.answer(0, cookie=new)
    await client.serve()
    client = await server.connected()
    if client.first.fast_open:
        client.must_use(new)
    server.record("after a refusal with a new cookie", str(client.first))
    client.answer()
    await client.serve()


@case("CLI-7")
async def a_cookie_in_answer_to_a_plain_syn_repeated(server: Server) -> None:
    """The fast open is lost, and the SYN-ACK to the plain SYN after it brings a new cookie: the
    old one is not used again."""
    client = await server.fast_open()
    await client.syn_again("the SYN, sent again")
    new = server.random.randbytes(8)
    client.answer(0, cookie=new)
    await client.serve()
    client = await server.connected()
    option = client.option
    client.require(
        option is None or option.cookie in (b"", new),
        "a cookie that was replaced is used again",
        f"cookie {new.hex()}, or none",
        str(client.first),
    )
    client.answer()
    await client.serve()


@case("CLI-25")
async def a_syn_ack_repeated_without_the_cookie_leaves_it(server: Server) -> None:
    """The SYN-ACK that granted a cookie comes once more, without it: the cookie stays."""
    client = await server.connected()
    client.must_ask()
    client.answer(0, cookie=server.cookie)
    await client.acked()
    client.answer(0)
    await client.serve()
    await _used(server, server.cookie)


@case("CLI-25", "CLI-7")
async def a_syn_ack_repeated_with_another_cookie(server: Server) -> None:
    """The SYN-ACK comes once more with another cookie: one of the two is used, whole."""
    client = await server.connected()
    client.must_ask()
    client.answer(0, cookie=server.cookie)
    await client.acked()
    other = server.random.randbytes(8)
    client.answer(0, cookie=other)
    await client.serve()
    client = await server.connected()
    client.require(
        client.first.cookie in (server.cookie, other),
        "neither cookie of a SYN-ACK that came twice is used",
        f"cookie {server.cookie.hex()} or {other.hex()}",
        str(client.first),
    )
    client.answer()
    await client.serve()


@case("CLI-2", "OPT-6")
async def a_cookie_of_the_experimental_form_comes_back_in_it(server: Server) -> None:
    """Where a client asks in the experimental form at last, the cookie it gets comes back in that
    form."""
    for _ in range(3):
        client = await server.connected()
        option = client.option
        if option is not None and option.form is not Form.IANA:
            break
        client.answer(0)
        await client.serve()
    else:
        raise Unsupported("the client does not ask in the experimental form")
    client.answer(0, cookie=server.cookie)
    await client.serve()
    client = await server.connected()
    client.must_use_no_other(server.cookie, "another cookie than the server granted is used")
    with judging("OPT-6" if client.first.cookie else "CLI-2"):
        client.require(
            client.option == FastOpen(option.form, server.cookie),
            "a cookie of the experimental form is not sent back in it",
            f"cookie {server.cookie.hex()}, of {option.form}",
            str(client.first),
        )
    client.answer()
    await client.serve()
