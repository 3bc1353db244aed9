"""SYN data that is acknowledged in part or not at all is sent again (RFC 7413 4.2.2)."""

from __future__ import annotations

import asyncio

from scapy_tfo import seq
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import SYN, Segment
from scapy_tfo.suite.concurrently import at_once
from scapy_tfo.suite.receiver import shown

_MUCH = 4000
"""More bytes than any SYN takes."""

_QUIET = 0.3
"""Seconds in which what is sent too early would come."""

_SYN_FULL = 1300
"""Bytes of text that a SYN takes whole where the MSS is 1460, and that need several segments of
500."""


def _must_continue(client: Incoming, size: int) -> None:
    """Demand that nothing behind the SYN begins before the first `size` bytes' end."""
    early = [
        each
        for each in client.heard
        if each.payload and not each.flags & SYN and seq.before(each.seq, client.their_next(size))
    ]
    client.require(
        not early,
        "data that was acknowledged is sent again",
        f"nothing in front of byte {size}",
        shown(early[:3]),
    )


@case("CLI-6")
async def refused_data_is_sent_again(server: Server) -> None:
    """A SYN-ACK for the SYN alone: the data comes with the ACK that ends the handshake, once."""
    client = await server.fast_open()
    client.answer(0)
    ack = await client.acked()
    # What had no room in the SYN, or was kept back, may follow it at once.
    client.require(
        ack.payload.startswith(client.first.payload),
        "the refused data does not come with the first ACK",
        f"{len(client.first.payload)} bytes",
        f"{len(ack.payload)} bytes",
    )
    await client.serve()


@case("CLI-6a")
async def refused_data_arrives_once(server: Server) -> None:
    """A SYN-ACK for the SYN alone: the data arrives, in whatever segments, once."""
    client = await server.fast_open()
    client.answer(0)
    await client.serve()


@case("CLI-6a", "CLI-15")
async def accepted_data_is_not_sent_again(server: Server) -> None:
    """A SYN-ACK for all of the data: what follows begins behind it."""
    client = await server.fast_open()
    client.answer()
    await client.acked()
    await client.serve()
    _must_continue(client, len(client.first.payload))


@case("CLI-15")
async def only_the_rest_of_partly_taken_data_is_sent_again(server: Server) -> None:
    """A SYN-ACK for the SYN and a part of its data: the rest comes again, from there on."""
    client = await server.fast_open()
    part = client.part
    client.answer(part)
    # A bare ACK may come first, at SND.NXT: behind all that was sent.
    rest = await client.expect(
        "the rest of the data", lambda each: bool(each.payload) and not each.flags & SYN
    )
    client.require(
        rest.seq == client.their_next(part),
        "the data is not continued where the SYN-ACK left off",
        f"a segment from byte {part} on ({len(client.first.payload) - part} bytes)",
        str(rest),
    )
    await client.serve()


@case("CLI-15", "CLI-21")
async def one_byte_is_taken(server: Server) -> None:
    """A SYN-ACK for the SYN and a single byte: all the others come, that one does not."""
    client = await server.fast_open()
    client.answer(1)
    await client.serve()
    _must_continue(client, 1)


@case("CLI-15", "CLI-21")
async def one_byte_is_left(server: Server) -> None:
    """A SYN-ACK for all but the last byte: that one comes, and none of the others."""
    client = await server.fast_open()
    size = len(client.first.payload) - 1
    client.answer(size)
    await client.serve()
    _must_continue(client, size)


async def _flight(client: Incoming, size: int) -> list[Segment]:
    """What comes behind the SYN-ACK before anything is sent again, or until `size` bytes of the
    stream are there: nothing of it is acknowledged meanwhile."""
    end = client.their_next(size)
    flight: list[Segment] = []

    def is_over() -> bool:
        flight.clear()
        top = client.their_next(client.taken)
        for each in client.heard:
            if not each.payload or each.flags & SYN:
                continue
            if seq.before(each.seq, top):
                return True
            flight.append(each)
            top = seq.add(each.seq, len(each.payload))
        return not seq.before(top, end)

    await client.until(f"a first flight of {size - client.taken} bytes", is_over)
    return flight


async def _usual_flight(server: Server, mss: int) -> int:
    """Bytes that the client sends at once behind a handshake with no fast open: its initial window
    may be a single segment (RFC 5681 section 3.1)."""
    client = await server.connected(_SYN_FULL)
    client.mss = mss
    client.answer(0)
    flight = await _flight(client, _SYN_FULL)
    await client.serve()
    return sum(len(each.payload) for each in flight)


async def _first_flight(server: Server, taken: int, mss: int) -> None:
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1460)
    size = len(client.first.payload)
    taken = min(taken, size // 2)
    client.mss = mss
    client.answer(taken)
    flight = await _flight(client, size)
    came = sum(len(each.payload) for each in flight)
    due = size - taken
    if came < due:
        due = min(due, await _usual_flight(server.sibling(), mss))
    client.require(
        came >= due,
        "not all that was refused comes in the first flight",
        f"{due} bytes before anything is sent again",
        f"{came} bytes: {shown(flight)}",
    )
    await client.serve()


@case("CLI-21a", "CLI-6")
async def a_refusal_with_the_same_mss_is_made_good_in_one_flight(server: Server) -> None:
    """1300 bytes refused: all of them come again before anything is acknowledged."""
    await _first_flight(server, 0, 1460)


@case("CLI-21a")
async def a_refusal_with_a_smaller_mss_is_made_good_in_one_flight(server: Server) -> None:
    """1300 bytes refused, with an MSS of 500: three segments come without waiting for a timer."""
    await _first_flight(server, 0, 500)


@case("CLI-21a")
async def a_part_refused_with_a_smaller_mss_is_made_good_in_one_flight(server: Server) -> None:
    """100 of 1300 bytes taken, with an MSS of 500: the others come without waiting for a timer."""
    await _first_flight(server, 100, 500)


@case("CLI-21", "CLI-6a")
async def no_segment_is_larger_than_the_new_mss(server: Server) -> None:
    """A refusal with an MSS of 300: nothing behind the SYN has more than that."""
    server.need_chosen_text()
    client = await server.fast_open(_SYN_FULL, mss=1460)
    client.mss = 300
    client.answer(0)
    await client.serve()
    large = [each for each in client.heard if not each.flags & SYN and len(each.payload) > 300]
    client.require(
        not large, "a segment larger than the MSS", "at most 300 bytes", shown(large[:3])
    )


@case("CLI-21", "CLI-15", "CLI-6a")
async def every_shape_of_refusal_with_every_mss(server: Server) -> None:
    """None, one byte, half, or all but one acknowledged, with an MSS smaller and larger than the
    cached one: the text arrives whole, and nothing acknowledged comes again."""
    server.need_chosen_text()

    async def one(each: Server, share: float, mss: int) -> None:
        client = await each.fast_open(900, mss=1000)
        size = len(client.first.payload)
        taken = {0.0: 0, 0.1: 1, 0.9: size - 1}.get(share, int(size * share))
        client.mss = mss
        client.answer(taken)
        await client.serve()
        _must_continue(client, taken)

    shapes = server.some([(share, mss) for mss in (300, 1400) for share in (0.0, 0.1, 0.5, 0.9)])
    servers = server.siblings(len(shapes))
    await at_once(one(each, *shape) for each, shape in zip(servers, shapes, strict=True))


async def _narrow(server: Server, window: int) -> None:
    """A refusal with that window, which is opened later. What the SYN had may come again beyond it
    (RFC 9293 section 3.8.6, MAY-7), anything else but a byte as a probe may not."""
    server.need_chosen_text()
    client = await server.fast_open(_MUCH)
    size = len(client.first.payload)
    client.window = window
    client.answer(0)
    await client.acked()
    await asyncio.sleep(_QUIET)
    behind = [each for each in client.heard if each.payload and not each.flags & SYN]
    top = max((seq.distance(client.their_next(0), each.end) for each in behind), default=0)
    server.record(f"sent again into a window of {window}", f"{min(top, size)} bytes")
    client.require(
        top <= max(size, window) + 1,
        "data into a closed window",
        f"nothing behind the {size} bytes of the SYN",
        f"up to byte {top}",
    )
    client.window = 65535
    client.ack()
    await client.serve()


@case("CLI-21", "CLI-6a")
async def a_refusal_with_a_small_window(server: Server) -> None:
    """A refusal with a window of 400 bytes: nothing new comes until it opens, and then the rest."""
    await _narrow(server, 400)


@case("CLI-21", "CLI-6a")
async def a_refusal_with_a_window_of_zero(server: Server) -> None:
    """A refusal with a window of zero: nothing new comes until it opens, and then the rest."""
    await _narrow(server, 0)


@case("CLI-15")
async def an_acknowledgement_beyond_the_data_is_refused(server: Server) -> None:
    """A SYN-ACK for one byte more than was sent gets a RST of that number; the right SYN-ACK behind
    it opens the connection."""
    client = await server.fast_open()
    beyond = client.their_next(len(client.first.payload) + 1)
    client.answer(0, ack=beyond)
    await client.refused(beyond)
    client.answer()
    await client.serve()


@case("CLI-15")
async def an_acknowledgement_of_nothing_is_refused(server: Server) -> None:
    """A SYN-ACK that does not even acknowledge the SYN gets a RST of that number; the right
    SYN-ACK behind it opens the connection."""
    client = await server.fast_open()
    client.answer(0, ack=client.first.seq)
    await client.refused(client.first.seq)
    client.answer()
    await client.serve()


@case("CLI-15", "CLI-7")
async def a_refused_syn_ack_leaves_the_cache_alone(server: Server) -> None:
    """A cookie in a SYN-ACK that acknowledges too much: it is not kept."""
    client = await server.fast_open()
    beyond = client.their_next(len(client.first.payload) + 1000)
    client.answer(0, ack=beyond, cookie=server.random.randbytes(8))
    await client.refused(beyond)
    client.answer()
    await client.serve()
    client = await server.connected()
    if client.first.fast_open:
        client.must_use(server.cookie)
    client.answer()
    await client.serve()
