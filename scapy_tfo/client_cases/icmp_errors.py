"""ICMP errors in answer to a SYN with data (RFC 1122, 1191, 8201; RFC 7413 4.1.3.1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import NOT_ENDING, Server
from scapy_tfo.icmp import SOFT_ERRORS, IcmpError, packet_too_big, unreachable
from scapy_tfo.suite.concurrently import at_once
from scapy_tfo.suite.outcome import Unsupported

_CODES = {4: (0, 1, 2, 3, 5, 6, 9, 10, 13), 6: (0, 1, 2, 3, 4, 5, 6)}
_PORT_UNREACHABLE = {4: 3, 6: 4}
_MTU = {4: 1340, 6: 1360}
"""Bytes, less than a SYN full of data has."""

_SYN_FULL = 1400
_AT_ONCE = 0.5
"""Seconds, less than any SYN timer that the RFCs know."""


async def _fails_or_goes_on(server: Server, client: Incoming, of: str) -> bool:
    """A client may give up, and tell its application, or try again and deliver all; whether it
    tried again."""
    seen = len(client.syns)
    # It is this function that gives up first.
    waits = asyncio.ensure_future(server.ended(client, within=2 * server.again_within))
    try:
        async with asyncio.timeout(server.again_within):
            while not waits.done() and len(client.syns) == seen:
                await asyncio.wait([waits], timeout=0.05)
    except TimeoutError:
        if await server.cannot_tell(NOT_ENDING):
            return False
        raise client.missing(f"the application's end, or another SYN, after {of}") from None
    finally:
        gave_up = waits.done() and len(client.syns) == seen
        waits.cancel()
    if gave_up:
        await server.must_be_told(client, of)
        return False
    client.answer(0)
    await client.serve()
    return True


@case("CLI-8a")
async def after_an_unreachable_port_no_fast_open(server: Server) -> None:
    """Port unreachable in answer to a fast open: the next SYN is none."""
    client = await server.fast_open()
    client.send_icmp(unreachable(client.first.to_bytes(), code=_PORT_UNREACHABLE[server.family]))
    await _fails_or_goes_on(server, client, "an unreachable port")
    client = await server.connected()
    client.must_not_open_fast("after an unreachable port")
    client.answer()
    await client.serve()


@case("CLI-22", "CLI-6a")
async def unreachable_in_every_way(server: Server) -> None:
    """Destination unreachable of every code: the application is told, or the connection opens
    after all and delivers the data once."""

    async def one(each: Server, code: int) -> None:
        client = await each.fast_open()
        client.send_icmp(unreachable(client.first.to_bytes(), code=code))
        went_on = await _fails_or_goes_on(each, client, f"destination unreachable, code {code}")
        each.record(f"unreachable, code {code}", "goes on" if went_on else "fails")

    codes = _CODES[server.family]
    await at_once(one(*each) for each in zip(server.siblings(len(codes)), codes, strict=True))


@case("CLI-6a", "CLI-8a")
async def an_error_about_another_segment(server: Server) -> None:
    """Port unreachable that quotes a sequence number never sent: believed or not, nothing is
    doubled or lost."""
    client = await server.fast_open()
    quoted = bytearray(client.first.to_bytes())
    at = (20 if server.family == 4 else 40) + 4
    quoted[at : at + 4] = ((client.first.seq + 100_000) % (1 << 32)).to_bytes(4, "big")
    client.send_icmp(unreachable(bytes(quoted), code=_PORT_UNREACHABLE[server.family]))
    await asyncio.sleep(0.05)
    client.answer()
    await client.serve()


def _need_more_than(client: Incoming, mtu: int) -> None:
    """End the case where the SYN is within that MTU: a client may put little in it."""
    if len(client.first.to_bytes()) <= mtu:
        raise Unsupported(f"the client's SYN takes no more than {mtu} bytes")


def _too_big(client: Incoming, mtu: int) -> IcmpError:
    return packet_too_big(client.first.to_bytes(), mtu=mtu)


@case("CLI-20", "CLI-6a")
async def a_syn_that_was_too_big(server: Server) -> None:
    """The path takes less than the SYN with its data: a smaller one comes, and all arrives."""
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1460)
    mtu = _MTU[server.family]
    _need_more_than(client, mtu)
    client.send_icmp(_too_big(client, mtu))
    again = await client.syn_again("a smaller SYN")
    client.require(
        len(again.to_bytes()) <= mtu,
        "the SYN that follows is too big as well",
        f"at most {mtu} bytes",
        f"{len(again.to_bytes())} bytes",
    )
    client.answer(0)
    await client.serve()
    behind = [each for each in client.heard if each not in client.syns]
    large = [each for each in behind if len(each.to_bytes()) > mtu]
    client.require(
        not large,
        "a packet larger than the path takes",
        f"at most {mtu} bytes",
        f"{len(large)} larger ones",
    )


@case("CLI-20a")
async def a_syn_that_was_too_big_is_replaced_at_once(server: Server) -> None:
    """The same, and the smaller SYN does not wait for the timer."""
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1460)
    _need_more_than(client, _MTU[server.family])
    loop = asyncio.get_running_loop()
    client.send_icmp(_too_big(client, _MTU[server.family]))
    began = loop.time()
    await client.syn_again("a smaller SYN")
    took = loop.time() - began
    server.record("the smaller SYN comes after", "the timer" if took > _AT_ONCE else "no time")
    client.answer(0)
    await client.serve()
    client.require(
        took <= _AT_ONCE, "the smaller SYN waits for the timer", "at once", f"{took:.1f} s"
    )


@case("CLI-20", "CLI-6a")
async def a_path_that_takes_more_than_the_syn_had(server: Server) -> None:
    """Packet too big, of an MTU above what the SYN took since the cached MSS was 1000: SYN-ACK and
    data find their way, once."""
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1000)
    client.mss = 1000
    client.send_icmp(_too_big(client, _MTU[server.family]))
    await asyncio.sleep(0.05)
    client.answer()
    await client.serve()


@case("CLI-20", "CLI-6a")
async def a_syn_ack_that_crosses_the_error(server: Server) -> None:
    """A SYN-ACK for all of the data comes behind packet too big: the data is not sent twice."""
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1460)
    client.send_icmp(_too_big(client, _MTU[server.family]))
    client.answer()
    await client.serve()


@case("CLI-20", "CLI-21")
async def refused_data_that_is_too_big_when_it_comes_again(server: Server) -> None:
    """The refused data comes again in a packet that the path does not take: it comes in smaller
    ones then, and arrives once."""
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1460)
    mtu = _MTU[server.family]
    client.lose(lambda each: len(each.to_bytes()) > mtu)
    client.answer(0)
    whole = len(server.text)
    await client.until(
        "the refused data", lambda: bool(client.lost) or len(client.stream.data) >= whole
    )
    if not client.lost:
        raise Unsupported(f"the client's packets have no more than {mtu} bytes")
    client.send_icmp(packet_too_big(client.lost[0].to_bytes(), mtu=mtu))
    await client.serve()


@case("CLI-20", "CLI-6a")
async def an_mtu_that_no_path_has(server: Server) -> None:
    """Packet too big of an MTU of 60 bytes, which is none: the connection goes on, and delivers."""
    client = await server.fast_open()
    client.send_icmp(_too_big(client, 60))
    await asyncio.sleep(0.05)
    client.answer()
    await client.serve()


@case("CLI-6a")
async def errors_that_may_pass_on_an_open_connection(server: Server) -> None:
    """A host is unreachable for a while, and other soft errors, all about data that the client
    sends on an open connection: none ends it, and all arrives (RFC 9293 section 3.9.2.2)."""
    client = await server.fast_open()
    client.answer(0)
    sent = await client.expect(
        "the refused data", lambda each: bool(each.payload) and not each.is_syn
    )
    for kind, code in SOFT_ERRORS[server.family]:
        client.send_icmp(replace(unreachable(sent.to_bytes(), code=code), type=kind))
    await asyncio.sleep(0.05)
    await client.serve()
