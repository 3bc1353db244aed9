"""Fast Open options that a client has to ignore (RFC 7413 4.1.1)."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo import option as opt
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.option import Form, RawOption
from scapy_tfo.segment import ACK, FIN, PSH, RST
from scapy_tfo.suite.concurrently import at_once

_LONGEST = 34
"""Bytes behind the option's length that fit beside the MSS option."""

_SIZES = tuple(each for each in range(1, _LONGEST + 1) if each % 2 or not 4 <= each <= 16)

_LIES = (0, 1, 3, 5, 9, 11, 30, 40, 255)
"""Lengths that an option of eight bytes says of itself; 30 and more run past the header's end."""


async def _ignored(server: Server, options: Iterable[RawOption]) -> None:
    """An option in answer to the request: whatever it holds opens nothing."""
    client = await server.connected()
    client.must_ask()
    client.answer(0, options=options)
    await client.serve()
    client = await server.connected()
    client.must_not_open_fast("by a cookie of an invalid option")
    client.answer(0)
    await client.serve()


async def _left(server: Server, every: Iterable[Iterable[RawOption]]) -> None:
    """Options in answer to fast opens, one after another: the cookie stays what it was."""
    cookie = await server.grant()
    for options in (*every, ()):
        client = await server.connected()
        client.must_use(cookie)
        client.answer(options=options)
        await client.serve()


def _of(server: Server, size: int) -> list[RawOption]:
    return [opt.fast_open(server.random.randbytes(size))]


@case("CLI-14", "OPT-1")
async def a_first_cookie_of_any_invalid_length_is_ignored(server: Server) -> None:
    """Cookies of 1 to 34 bytes where that is no length of a cookie: none of them is used."""
    sizes = server.some(_SIZES)
    servers = server.siblings(len(sizes))
    await at_once(
        _ignored(each, _of(each, size)) for each, size in zip(servers, sizes, strict=True)
    )


@case("CLI-14", "CLI-7")
async def a_new_cookie_of_any_invalid_length_leaves_the_cached_one(server: Server) -> None:
    """The same as new cookies in answer to fast opens: the one cached before goes on being used."""
    parts = [server.some(_SIZES)[at::4] for at in range(4)]
    await at_once(
        _left(each, [_of(each, size) for size in sizes])
        for each, sizes in zip(server.siblings(4), parts, strict=True)
    )


@case("CLI-14", "OPT-7")
async def a_length_that_lies_opens_nothing(server: Server) -> None:
    """Options that say another length than they have, in answer to a request: the connection goes
    on, and no other cookie than what the length says is used."""

    async def one(each: Server, length: int) -> None:
        client = await each.connected()
        client.must_ask()
        client.answer(0, options=[opt.fast_open(each.cookie, length=length)])
        await client.serve()
        client = await each.connected()
        client.must_not_open_fast(f"by an option of eight bytes that says {length}")
        client.answer(0)
        await client.serve()

    lies = server.some(_LIES)
    await at_once(one(*each) for each in zip(server.siblings(len(lies)), lies, strict=True))


@case("CLI-14")
async def a_length_that_lies_leaves_the_cached_cookie(server: Server) -> None:
    """The same in answer to fast opens: the cached cookie stays."""
    lies = server.some(_LIES)
    wrong = [[opt.fast_open(server.random.randbytes(8), length=each)] for each in lies]
    await at_once(_left(server.sibling(), each) for each in (wrong[::2], wrong[1::2]))


@case("CLI-14")
async def an_empty_option_in_a_syn_ack_leaves_the_cached_cookie(server: Server) -> None:
    """A SYN-ACK with a request in it, which means nothing there: the cached cookie stays."""
    await _left(server, [[opt.fast_open()]])


@case("CLI-14", "OPT-10")
async def a_cookie_behind_the_end_of_options_is_not_read(server: Server) -> None:
    """A cookie behind the byte that ends the options is no option."""
    end = RawOption(opt.EOL)
    await _ignored(server.sibling(), [end, opt.fast_open(server.cookie)])
    await _left(server, [[end, opt.fast_open(server.random.randbytes(8))]])


@case("CLI-14")
async def an_experiment_of_another_number_is_no_cookie(server: Server) -> None:
    """Options of kinds 253 and 254 with other numbers than Fast Open's, and other kinds with
    Fast Open's shape."""
    data = server.random.randbytes(8)
    other = [RawOption(kind, 12, b"\xe2\xd4" + data) for kind in (253, 254)]
    kinds = [RawOption(kind, 10, data) for kind in (33, 35, 69)]
    await at_once(
        (
            _ignored(server.sibling(), [other[1]]),
            _left(server, [[each] for each in (*other, *kinds)]),
        )
    )


@case("CLI-14")
async def an_experimental_cookie_of_any_invalid_length_is_ignored(server: Server) -> None:
    """The experimental form with cookies of invalid lengths leaves the cached cookie."""
    sizes = server.some((1, 3, 5, 7, 9, 15, 17, 18, 20, 30))
    every = [
        [opt.fast_open(server.random.randbytes(size), form=Form.EXPERIMENT_2)] for size in sizes
    ]
    await at_once(_left(server.sibling(), each) for each in (every[::2], every[1::2]))


@case("CLI-14")
async def an_invalid_option_beside_a_refusal_changes_nothing(server: Server) -> None:
    """A refusal with a cookie of seven bytes: the data comes again, and those bytes never do."""
    client = await server.fast_open()
    client.answer(0, options=[opt.fast_open(server.random.randbytes(7))])
    await client.serve()
    client = await server.connected()
    client.must_use_no_other(server.cookie, "bytes of an invalid option are used as a cookie")
    client.answer()
    await client.serve()


@case("CLI-14")
async def a_valid_cookie_beside_an_invalid_one_is_whole(server: Server) -> None:
    """A SYN-ACK with a cookie of five bytes and one of eight: what is used is the one of eight, or
    nothing."""
    client = await server.connected()
    client.must_ask()
    client.answer(0, options=[*_of(server, 5), opt.fast_open(server.cookie)])
    await client.serve()
    client = await server.connected()
    client.must_use_no_other(server.cookie, "a cookie that was never granted is used")
    client.answer(0)
    await client.serve()


@case("CLI-14", "OPT-4")
async def a_cookie_outside_of_a_syn_ack_changes_nothing(server: Server) -> None:
    """Cookies on an ACK, on data and on a FIN: the cached one stays."""
    client = await server.fast_open()
    client.answer()
    await client.text()
    body = b"some of it, and the rest"
    reply = client.reply(body)
    client.send(ACK, options=_of(server, 8))
    client.send(ACK | PSH, reply[:-4], options=_of(server, 8))
    client.send(ACK | FIN | PSH, reply[-4:], options=_of(server, 16))
    await client.closes(body)
    client = await server.connected()
    client.must_use(server.cookie)
    client.answer()
    await client.serve()


@case("CLI-14", "OPT-4")
async def a_cookie_outside_of_a_syn_ack_is_not_granted(server: Server) -> None:
    """Cookies on ACK, data and FIN where a request was not answered: none of them is used."""
    client = await server.connected()
    client.must_ask()
    client.answer(0)
    await client.text()
    body = b"some of it, and the rest"
    reply = client.reply(body)
    client.send(ACK, options=_of(server, 8))
    client.send(ACK | PSH, reply[:-4], options=_of(server, 8))
    client.send(ACK | FIN | PSH, reply[-4:], options=_of(server, 8))
    await client.closes(body)
    client = await server.connected()
    client.must_not_open_fast("by a cookie outside of a SYN-ACK")
    client.answer(0)
    await client.serve()


@case("CLI-14", "OPT-4")
async def a_cookie_on_a_rst_is_not_granted(server: Server) -> None:
    """A RST with a cookie in answer to a request: the application is told, the cookie not used."""
    client = await server.connected()
    client.must_ask()
    acked = client.their_next(len(client.first.payload))
    client.send(RST | ACK, seq=0, ack=acked, window=0, options=_of(server, 8))
    await server.must_be_told(client, "a RST in answer to its request")
    client = await server.connected()
    client.must_not_open_fast("by the cookie of a RST")
    client.answer(0)
    await client.serve()
