"""Onset of silence: the path carries so many packets of a fast open, and then none any more.

For each number there are two conversations. In one, the path is back after a timer of the client:
the same connection then delivers everything. In the other it stays silent, and the application is
ended: the next connection delivers everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scapy_tfo import seq
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import ACK, PSH, Segment
from scapy_tfo.suite.outcome import judging

Step = Callable[[Incoming], Awaitable[None]]

AGAIN_WITHIN = 8.0
"""Seconds within which what was lost comes again, twice in a row."""

ONCE_MORE = 1.2
"""Seconds of silence: longer than the first timer of any stack of RFC 6298."""


async def _all_taken(client: Incoming) -> None:
    client.answer()


async def _half_taken(client: Incoming) -> None:
    client.answer(client.part)


async def _nothing_taken(client: Incoming) -> None:
    client.answer(0)


async def _text(client: Incoming) -> None:
    await client.text(within=AGAIN_WITHIN)


async def _part_of_the_answer(client: Incoming) -> None:
    part = client.reply()[:3]
    client.send(ACK | PSH, part, seq=seq.add(client.isn, 1), ack=client.rcv_nxt)


STARTS: dict[str, Step] = {
    "all is taken": _all_taken,
    "half is taken": _half_taken,
    "nothing is taken": _nothing_taken,
}
_STEPS: tuple[Step, ...] = (_text, _part_of_the_answer)
"""What our end does after its SYN-ACK. The end of the answer is the last, with `serve`."""

MOST = 1 + len(_STEPS)


async def plain_syn_again(client: Incoming, *, within: float | None = None) -> None:
    """Wait for the SYN to come again. within: seconds, None for what a server waits."""
    must_be_plain_again(client, await client.syn_again("the SYN, sent again", within=within))


def must_be_plain_again(client: Incoming, again: Segment) -> None:
    """Demand that a SYN that was sent again is the same connection's, without Fast Open option and
    without data."""
    with judging("CLI-5"):
        client.require(
            not again.fast_open and not again.payload,
            "the SYN is sent again with Fast Open option or data",
            "a SYN without Fast Open option and without data",
            str(again),
        )
    with judging("CLI-6a"):
        client.require(
            again.seq == client.first.seq,
            "the SYN is sent again with another sequence number",
            f"sequence number {client.first.seq}",
            str(again),
        )


async def _silence(server: Server, start: Step, number: int) -> Incoming:
    """A fast open of which so many steps of ours are carried. Then nothing is, either way."""
    client = await server.fast_open()
    for step in (start, *_STEPS)[:number]:
        await step(client)
    if not number:
        await plain_syn_again(client)
        return client
    client.lose(lambda _: True)
    await client.pause(ONCE_MORE)
    return client


async def heals(server: Server, start: Step, number: int) -> None:
    """The path is back after a timer of the client: the same connection delivers everything."""
    client = await _silence(server, start, number)
    client.lose(lambda _: False)
    if not number:
        client.answer(0)
    with judging("CLI-6a"):
        await client.serve(within=AGAIN_WITHIN)


async def stays(server: Server, start: Step, number: int) -> None:
    """It stays silent, and the application is ended: the next connection delivers everything. A
    client that was ended has not given up, so that nobody can demand a plain one."""
    client = await _silence(server, start, number)
    client.lose(lambda _: True)
    if server.application is not None:
        server.application.kill()
    client = await server.connected()
    server.record("the SYN after that", str(client.first))
    with judging("CLI-6a"):
        client.answer()
        await client.serve()
