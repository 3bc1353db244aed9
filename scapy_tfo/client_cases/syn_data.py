"""The amount of data in a SYN, and the order of what follows it (RFC 7413 4.1.3, 4.2.2)."""

from __future__ import annotations

import asyncio

from scapy_tfo import option as opt
from scapy_tfo.clients.application import MD5
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.suite.outcome import Inconclusive
from scapy_tfo.suite.receiver import shown

_MUCH = 4000
"""More bytes than any SYN takes."""

_DEFAULT = {4: 536, 6: 1220}
"""Bytes, where no MSS is known."""

_QUIET = 0.3
"""Seconds in which what is sent too early would come."""


def _must_fit(client: Incoming, limit: int, why: str) -> None:
    size = len(client.first.payload)
    client.require(
        size <= limit,
        f"more data in the SYN than {why}",
        f"at most {limit} bytes",
        f"{size} bytes",
    )


async def _bound(server: Server, mss: int) -> int:
    """Bytes at most in a SYN to a server that announced `mss`: the default, if that is more, where
    a client does not remember the MSS, as it is only advised to (RFC 7413 section 4.1.3). One that
    sends more than the default to another server does."""
    default = _DEFAULT[server.family]
    if mss >= default:
        return mss
    client = await server.sibling().fast_open(_MUCH)
    client.answer()
    await client.serve()
    return mss if len(client.first.payload) > default else default


@case("CLI-4", "CLI-6a")
async def a_syn_takes_no_more_than_the_cached_mss(server: Server) -> None:
    """The server announced 1000, the application writes 4000: the SYN has 1000 at most, and the
    rest follows its SYN-ACK."""
    server.need_chosen_text()
    limit = await _bound(server, 1000)
    client = await server.fast_open(_MUCH, mss=1000)
    client.mss = 1000
    _must_fit(client, limit, "the MSS that the server announced")
    client.answer()
    await client.serve()


@case("CLI-4", "CLI-6a")
async def a_small_mss_bounds_the_syn(server: Server) -> None:
    """The same with an MSS of 256 bytes."""
    server.need_chosen_text()
    limit = await _bound(server, 256)
    client = await server.fast_open(1000, mss=256)
    client.mss = 256
    _must_fit(client, limit, "the MSS that the server announced")
    client.answer()
    await client.serve()


@case("CLI-4")
async def without_an_mss_the_default_bounds_the_syn(server: Server) -> None:
    """The SYN-ACK with the cookie had no MSS option: the SYN has 536 bytes at most over IPv4, 1220
    over IPv6."""
    server.need_chosen_text()
    await server.grant(with_mss=False)
    client = await server.connected(_MUCH)
    client.opens_fast(server.cookie)
    _must_fit(client, _DEFAULT[server.family], "may be where no MSS is known")
    client.answer()
    await client.serve()


@case("CLI-4a")
async def how_much_of_a_large_mss_is_used(server: Server) -> None:
    """The server announced 9000: how much of that the SYN takes is recorded."""
    server.need_chosen_text()
    client = await server.fast_open(9000, mss=9000)
    server.record("data in a SYN where the MSS is 9000", len(client.first.payload))
    client.answer()
    await client.serve()


@case("CLI-6a", "CLI-4")
async def a_large_mss_does_not_outgrow_the_path(server: Server) -> None:
    """The server announced 9000, and takes what the SYN has of that: all arrives, once."""
    server.need_chosen_text()
    client = await server.fast_open(9000, mss=9000)
    client.answer()
    await client.serve()


@case("CLI-7")
async def a_smaller_mss_replaces_the_cached_one(server: Server) -> None:
    """A fast open is answered with an MSS of 700, where 1400 was cached: the next SYN has 700 bytes
    at most."""
    server.need_chosen_text()
    limit = await _bound(server, 700)
    client = await server.fast_open(mss=1400)
    client.mss = 700
    client.answer()
    await client.serve()
    client = await server.connected(_MUCH)
    client.opens_fast(server.cookie)
    client.mss = 700
    _must_fit(client, limit, "the MSS announced last")
    client.answer()
    await client.serve()


@case("CLI-7")
async def a_larger_mss_replaces_the_cached_one(server: Server) -> None:
    """The other way round: 700 was cached, 1400 is announced, and the next SYN takes as much as one
    to a server that announced 1400 from the first."""
    server.need_chosen_text()
    other = server.sibling()
    client = await other.fast_open(_MUCH, mss=1400)
    client.answer()
    await client.serve()
    usual = len(client.first.payload)
    client = await server.fast_open(mss=700)
    client.mss = 1400
    client.answer()
    await client.serve()
    client = await server.connected(_MUCH)
    client.opens_fast(server.cookie)
    size = len(client.first.payload)
    client.require(
        size >= usual,
        "a larger MSS does not replace the cached one",
        f"{usual} bytes in the SYN",
        f"{size} bytes",
    )
    client.answer()
    await client.serve()


@case("CLI-7")
async def the_mss_of_a_refusal_replaces_the_cached_one(server: Server) -> None:
    """A refusal with a new cookie and an MSS of 600: a fast open after it has 600 bytes at most.
    There may be none."""
    server.need_chosen_text()
    limit = await _bound(server, 600)
    client = await server.fast_open(mss=1400)
    client.mss = 600
    client.answer(0, cookie=server.random.randbytes(8))
    await client.serve()
    client = await server.connected(_MUCH)
    client.mss = 600
    _must_fit(client, limit, "the MSS announced last")
    client.answer()
    await client.serve()


@case("CLI-2", "CLI-6a")
async def a_single_byte_goes_in_the_syn(server: Server) -> None:
    """A text of one byte, taken whole: nothing is invented around it."""
    server.need_chosen_text()
    client = await server.fast_open(1)
    client.answer()
    await client.serve()


@case("CLI-6a", "CLI-4")
async def what_the_syn_had_no_room_for_follows_a_refusal(server: Server) -> None:
    """More than a SYN takes, and all of it refused: the whole text arrives, once."""
    server.need_chosen_text()
    client = await server.fast_open(_MUCH)
    client.answer(0)
    await client.serve()


@case("CLI-11")
async def nothing_but_the_syn_goes_out_before_the_syn_ack(server: Server) -> None:
    """Several segments' worth to send, and a SYN-ACK that takes its time: only the SYN comes."""
    server.need_chosen_text()
    client = await server.fast_open(_MUCH)
    await asyncio.sleep(_QUIET)
    early = [each for each in client.heard if each not in client.syns]
    client.require(
        not early, "segments before the SYN-ACK", "nothing but the SYN", shown(early[:3])
    )
    client.answer()
    await client.serve()


@case("CLI-10", "CLI-2")
async def the_longest_cookie_goes_whole_or_not_at_all(server: Server) -> None:
    """A cookie of 16 bytes beside the other options of a SYN: it is there whole; or the SYN is a
    plain one without data."""
    cookie = server.random.randbytes(16)
    await server.grant(cookie)
    client = await server.connected()
    option = client.option
    if option is None and not client.first.fast_open:
        client.must_be_plain("where a cookie has no room")
    else:
        client.must_use(cookie)
    client.answer()
    await client.serve()


@case("CLI-10")
async def a_cookie_without_room_is_left_out_with_the_data(server: Server) -> None:
    """TCP MD5, or as much of something else, leaves no room for a cookie of 16 bytes: a plain SYN
    goes out, and the data follows the handshake."""
    cookie = server.random.randbytes(16)
    await server.grant(cookie)
    client = await server.connected(crowded=True)
    option = client.option
    if option is not None and option.cookie == cookie:
        raise Inconclusive("the cookie had room all the same")
    client.must_be_plain("where a cookie has no room")
    if server.board.client.crowding != MD5:
        client.answer()
        await client.serve()


@case("CLI-6a", "OPT-9")
async def every_option_of_tcp_beside_the_cookie(server: Server) -> None:
    """Timestamps, SACK and window scale agreed on, the data taken: the rest arrives as well."""
    server.need_chosen_text()
    await server.grant()
    client = await server.connected(20_000)
    client.opens_fast(server.cookie)
    client.timestamp = 1000
    client.answer(options=[opt.sack_permitted(), opt.nop(), opt.window_scale(7)])
    await client.serve()
