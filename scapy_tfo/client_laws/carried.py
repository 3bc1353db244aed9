"""Onset of silence by bytes: the path carries exactly so many bytes one way, and then nothing.

Each number of bytes is a conversation of its own; several run side by side. What is carried of the
client's text is what our end acknowledges; what is carried of our answer comes with the SYN-ACK, or
behind it. As in `onset`, the path comes back after a timer of the client, or stays
silent until the application is ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from scapy_tfo import seq
from scapy_tfo.client_laws.onset import AGAIN_WITHIN, ONCE_MORE
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import Conversation
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, PSH
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.outcome import judging

Carry = Callable[[Incoming, int], Awaitable[None]]
"""Carries so many bytes of a conversation whose SYN has come."""

_LONG = 3000
"""Bytes of a text that a SYN has no room for."""


async def of_the_text(client: Incoming, number: int) -> None:
    """So many bytes of the client's text, those of the SYN first."""
    in_the_syn = len(client.first.payload)
    client.answer(min(number, in_the_syn))

    def has_more_than(size: int) -> bool:
        return len(client.stream.data) > size

    came = in_the_syn
    # A client that waits for acknowledgements, as Nagle does, gets one for each piece.
    while came < number:
        await client.until(
            f"{number} bytes of the client's text",
            partial(has_more_than, came),
            within=AGAIN_WITHIN,
        )
        came = min(len(client.stream.data), number)
        client.send(ACK, ack=client.their_next(came))


async def of_the_answer(client: Incoming, number: int) -> None:
    """All of the text, and so many bytes of our answer."""
    client.answer()
    await client.text(within=AGAIN_WITHIN)
    part = client.reply()[:number]
    if part:
        client.send(ACK | PSH, part, seq=seq.add(client.isn, 1), ack=client.rcv_nxt)


async def in_the_syn_ack(client: Incoming, number: int) -> None:
    """All of the SYN's text, and so many bytes of our answer in the SYN-ACK."""
    client.answer(data=client.reply()[:number])


def _edges(size: int) -> list[int]:
    """Numbers of bytes up to so many at which counting goes wrong first."""
    return [each for each in (0, 1, 2, size // 2, size - 1, size) if 0 <= each <= size]


def _of_the_syn(client: Incoming) -> Sequence[int]:
    return _edges(len(client.first.payload))


def _behind_the_syn(client: Incoming) -> Sequence[int]:
    first = len(client.first.payload)
    segment = first + client.mss - 40
    return [first + 1, segment - 1, segment, segment + 1, _LONG - 1, _LONG]


def _of_the_reply(client: Incoming) -> Sequence[int]:
    return _edges(len(client.reply()))


_MOST_EDGES = 6
_MOST_IN_A_SYN = 100
"""Bytes, as an application has to say unless a law wants another size."""

_WAYS: dict[str, tuple[Carry, Callable[[Incoming], Sequence[int]], int]] = {
    "a short text": (of_the_text, _of_the_syn, 0),
    "a long text": (of_the_text, _behind_the_syn, _LONG),
    "the answer": (of_the_answer, _of_the_reply, 0),
    "the answer in the SYN-ACK": (in_the_syn_ack, _of_the_reply, 0),
}
WAYS = tuple(_WAYS)
SHORT = WAYS[0]


async def _carried(
    server: Server, way: str, at: int, *, every: bool
) -> tuple[Incoming, int] | None:
    """A fast open of which the number of bytes at that place is carried, and nothing more; None
    where the text is too short for that place."""
    carry, numbers, size = _WAYS[way]
    client = await (server.fast_open(size) if size else server.fast_open())
    here = range(len(client.first.payload) + 1) if every else sorted(set(numbers(client)))
    if at >= len(here):
        client.answer()
        await client.serve()
        return None
    await carry(client, here[at])
    # Our end says nothing either until the path is back.
    client.lose(lambda _: True)
    await client.pause(ONCE_MORE)
    return client, here[at]


async def _goes_on(server: Server, way: str, at: int, *, is_back: bool, every: bool) -> int | None:
    """The whole conversation of that place; the number of bytes that were carried."""
    found = await _carried(server, way, at, every=every)
    if found is None:
        return None
    client, number = found
    if is_back:
        client.lose(lambda _: False)
    else:
        if server.application is not None:
            server.application.kill()
        client = await server.connected()
        client.answer()
    await client.serve(within=AGAIN_WITHIN)
    return number


def silence(way: str, *, is_back: bool, every: bool = False) -> Conversation:
    """The conversations of a way to carry bytes. every: after each byte of the SYN, and not only
    where counting goes wrong first."""
    places = range(_MOST_IN_A_SYN + 1 if every else _MOST_EDGES)

    async def run(server: Server) -> None:
        if _WAYS[way][2]:
            server.need_chosen_text()
        chosen = server.some(places)
        with judging("CLI-6a"):
            carried = await together(
                _goes_on(each, way, at, is_back=is_back, every=every)
                for each, at in zip(server.siblings(len(chosen)), chosen, strict=True)
            )
        numbers = sorted({each for each in carried if each is not None})
        if numbers:
            span = f"from {numbers[0]} to {numbers[-1]}"
            server.record(f"{way}, carried", f"{len(numbers)} numbers of bytes, {span}")

    return run
