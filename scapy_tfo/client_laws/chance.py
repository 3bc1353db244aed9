"""A conversation of several connections with several servers, all of it drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from scapy_tfo.client_laws.answers import ANSWERS, Turn, plain_answer
from scapy_tfo.client_laws.memory import Memory
from scapy_tfo.clients.server import Server
from scapy_tfo.segment import Address
from scapy_tfo.suite.outcome import Failed, judging
from scapy_tfo.suite.registry import Case

_CONNECTIONS = 14
_SIZES = (1, 18, 100, 100, 536, 1400, 3000, 20_000)
"""Bytes that an application has to say."""


_FORGIVEN = {"CLI-8a", "CLI-12a"}
"""What many a client leaves out, since it is a SHOULD: the conversation goes on after it."""


async def _connected(
    server: Server, memory: Memory, dice: random.Random, forgiven: list[Failed]
) -> Turn | None:
    """The next connection, held against what the client remembers; None after one without fast
    open, which is served. forgiven: takes the failures that do not end the conversation."""
    size = dice.choice(_SIZES) if server.dialogue.chosen else 100
    if server.client.can_be_plain and dice.random() < 0.1:
        client = await server.connected(size, ask=False)
        with judging("CLI-18"):
            client.must_be_plain("though the application did not ask for it")
        client.mss = memory.mss or client.mss
        client.answer()
        await client.serve()
        return None
    client = await server.connected(size)
    try:
        memory.check(client, server.port)
    except Failed as ending:
        if not set(ending.requirements) <= _FORGIVEN:
            raise
        forgiven.append(ending)
    return Turn(server, client, memory, dice)


async def converse(server: Server, seed: int) -> None:
    """Connections to three hosts, two ports each, in any order."""
    dice = random.Random(seed)
    hosts = [server, *server.siblings(2)]
    memories: dict[Address, Memory] = {}
    by_port: dict[tuple[int, int], Server] = {(at, 80): each for at, each in enumerate(hosts)}
    answers, weights = zip(*ANSWERS, strict=True)
    at, port = 0, 80
    forgiven: list[Failed] = []
    for number in range(_CONNECTIONS):
        if dice.random() < 0.35:
            at = dice.randrange(len(hosts))
            port = dice.choice((80, 80, 81))
        if (at, port) not in by_port:
            by_port[at, port] = hosts[at].sibling(port=port)
        each = by_port[at, port]
        memory = memories.setdefault(each.address, Memory(server.family))
        for other in memories.values():
            other.is_next = other.is_next and other is memory
            other.is_last = other.is_last and other is memory
        each.record(f"connection {number + 1}", f"host {at + 1}, port {port}")
        turn = await _connected(each, memory, dice, forgiven)
        if turn is None:
            continue
        answer = dice.choices(answers, weights)[0] if memory.cookie or number else plain_answer
        await answer(turn)
    if forgiven:
        raise forgiven[0]


def conversations(seeds: Sequence[int]) -> list[Case]:
    """One case for each seed."""
    return [_case(seed) for seed in seeds]


def _case(seed: int) -> Case:
    async def run(server: Server) -> None:
        await converse(server, seed)

    return Case(
        id=f"CLI-6a.chance-{seed}",
        title=f"A conversation of {_CONNECTIONS} connections, drawn from seed {seed}.",
        requirements=("CLI-6a",),
        run=run,
    )
