"""A refused or accepted fast open lives on like any other connection (RFC 9293 3.8)."""

from __future__ import annotations

import asyncio

from scapy_tfo.clients.registry import case
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import SYN, Segment

_BULK = 150_000
"""Bytes, many times the first flight."""

_BULK_ANSWER = b"0123456789abcdef" * 1500

_RESENT_WITHIN = 8.0
"""Seconds within which lost data comes again, three times in a row."""

_IDLE = 100.0
"""Seconds in which nothing is said."""


class _Loses:
    """Loses the first so many segments with text behind the SYN, and what comes meanwhile."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, segment: Segment) -> bool:
        if not segment.payload or segment.flags & SYN or not self.left:
            return False
        self.left -= 1
        return True


@case("CLI-23", "CLI-6a")
async def a_bulk_behind_a_refusal(server: Server) -> None:
    """150,000 bytes of which the first were refused in the SYN arrive, each once."""
    server.need_chosen_text()
    client = await server.fast_open(_BULK)
    client.answer(0)
    await client.serve()


@case("CLI-23", "CLI-6a")
async def a_bulk_behind_an_accepted_fast_open(server: Server) -> None:
    """150,000 bytes of which the first were taken in the SYN arrive, each once."""
    server.need_chosen_text()
    client = await server.fast_open(_BULK)
    client.answer()
    await client.serve()


@case("CLI-23")
async def a_long_answer_to_a_fast_open(server: Server) -> None:
    """24,000 bytes of ours reach the application of a fast open, each once."""
    client = await server.fast_open()
    client.answer()
    await client.serve(_BULK_ANSWER)


@case("CLI-23")
async def a_long_answer_to_a_refused_fast_open(server: Server) -> None:
    """The same where the data of the SYN was refused."""
    client = await server.fast_open()
    client.answer(0)
    await client.serve(_BULK_ANSWER)


@case("CLI-23", "CLI-6a")
async def refused_data_that_is_lost_comes_again(server: Server) -> None:
    """The refused data is lost when it comes again: it comes a third time, and arrives once."""
    client = await server.fast_open()
    client.lose(_Loses(1))
    client.answer(0)
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-23", "CLI-6a")
async def the_rest_of_a_part_is_lost_and_comes_again(server: Server) -> None:
    """A part is taken, and the rest lost when it comes again: it comes a third time."""
    client = await server.fast_open()
    client.lose(_Loses(1))
    client.answer(client.part)
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-23", "CLI-21")
async def a_loss_within_the_bulk_behind_a_refusal(server: Server) -> None:
    """The first segment behind a refusal is lost and those behind it arrive: duplicate
    acknowledgements or a timer bring it back."""
    server.need_chosen_text()
    client = await server.fast_open(20_000)
    client.lose(_Loses(1))
    client.answer(0)
    await client.serve(within=_RESENT_WITHIN)


@case("CLI-23", slow=True)
async def several_losses_behind_a_refusal(server: Server) -> None:
    """The refused data is lost three times in a row: the connection is not given up."""
    client = await server.fast_open()
    client.lose(_Loses(3))
    client.answer(0)
    await client.serve(within=4 * _RESENT_WITHIN)


@case("CLI-23", slow=True)
async def a_long_silence_behind_a_refusal(server: Server) -> None:
    """The window stays shut for 100 s behind a refusal; when it opens, two segments are lost: all
    arrives, and nothing was given up."""
    server.need_chosen_text()
    client = await server.fast_open(20_000)
    client.answer(0, window=4000)
    await client.until("what the window takes", lambda: len(client.stream.data) >= 1000)
    client.window = 0
    client.ack()
    end = asyncio.get_running_loop().time() + _IDLE
    while (left := end - asyncio.get_running_loop().time()) > 0:
        await asyncio.sleep(min(1.0, left))
        client.ack()
    client.window = 65535
    client.lose(_Loses(2))
    client.ack()
    await client.serve(within=8 * _RESENT_WITHIN)


@case("CLI-23", slow=True)
async def a_slow_answer_to_a_refused_fast_open(server: Server) -> None:
    """The server takes 30 s for its answer: the connection is there, and the application gets
    it."""
    client = await server.fast_open()
    client.answer(0)
    await client.text()
    await asyncio.sleep(30)
    await client.serve()
