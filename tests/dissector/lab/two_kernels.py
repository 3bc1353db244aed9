"""Conversations between kernels over a path with faults, captured at both ends.

At the client, AF_PACKET captures what its interface sees; at the servers, this module does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from base64 import b64decode
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ends
import fast_open_client
from meddling import Meddler, Ways
from plan import Conversation, Step

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import LinuxHooks, host_families
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.lab.links.impairment import Path as OneWay
from scapy_tfo.segment import MalformedPacketError, Segment
from scapy_tfo.wire.links.tun import TunLink

DELAY = 0.02
"""Seconds, in each direction."""

PAUSE = 0.004
"""Seconds between the beginnings of two conversations: nobody's queue gets long."""

FIRST_PORT = 20000
TICK = 0.005
"""Seconds after which is looked whether this process still runs."""

SETTLE = 0.2
"""Seconds for what is still under way when the client has ended."""


@dataclass(frozen=True, kw_only=True)
class Word:
    """What the kernels say of one connection.

    port: the client's, which is of this connection alone. acked: TCPI_OPT_SYN_DATA. failed:
    tcpi_fastopen_client_fail. retransmitted: segments the client sent again. answered: it got
    back what it sent. error: of its socket. delivered: what the server's applications read, for
    each time that one was handed the connection.
    """

    conversation: Conversation
    step: Step
    family: int
    port: int
    acked: bool
    failed: int
    retransmitted: int
    answered: bool
    error: str
    delivered: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        return f"{self.conversation.name}, IPv{self.family}, port {self.port}"


@dataclass
class Evidence:
    """captures: by where they were made, `client` or a server's name. words: on each connection.
    counters: TcpExt's, by where; of kernels alone. stall: seconds for which this process, which is
    the path, did not run, at most."""

    captures: dict[str, Path] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    stall: float = 0.0

    async def watch(self) -> None:
        """Until it is cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            before = clock()
            await asyncio.sleep(TICK)
            self.stall = max(self.stall, clock() - before - TICK)


class Between:
    """The path: one meddler for each connection, by the client's port."""

    def __init__(self, client: TunLink) -> None:
        self._meddlers: dict[int, tuple[Meddler, ends.Server]] = {}
        dice = random.Random(0)
        self._client = client
        self._is_open = True
        self._homeward = OneWay(Impairment(delay=DELAY), self._come_back, dice)
        self._onward = OneWay(Impairment(delay=DELAY), self._arrive, dice)
        client.start(self._from_client)

    def meddle(self, kind: type[Meddler], port: int, server: ends.Server) -> None:
        async def rotate(listener: int) -> None:
            await server.hooks.set_keys(listener, [ends.NEXT_KEY])

        server.answer = self._from_server
        ways = Ways(self._onward.send, self._homeward.send, rotate)
        self._meddlers[port] = kind(ways), server

    def _from_client(self, packet: bytes, _when: float) -> None:
        segment = _segment(packet)
        if segment is not None:
            self._meddlers[segment.sport][0].from_client(packet)

    def close(self) -> None:
        """What is under way is lost: somebody may go on sending in vain."""
        self._is_open = False

    def _come_back(self, packet: bytes) -> None:
        if self._is_open:
            self._client.send(packet)

    def _arrive(self, packet: bytes) -> None:
        if self._is_open:
            _, server = self._meddlers[Segment.from_bytes(packet).sport]
            server.tap(packet)
            server.send(packet)

    def _from_server(self, packet: bytes) -> None:
        segment = _segment(packet)
        if segment is not None:
            meddler, server = self._meddlers[segment.dport]
            server.tap(packet)
            meddler.from_server(packet)


async def hold(conversations: Sequence[Conversation], directory: Path) -> Evidence:
    """Have all conversations at once, over each family, and keep captures in a directory.

    Raises SetupError where the host does not allow namespaces.
    """
    names = list(dict.fromkeys(each.server for each in conversations))
    places = len(conversations)
    with ExitStack() as stack:
        agent, link = await ends.kernel_client(stack, len(names), places)
        servers = {
            name: await ends.server(stack, name, number, places)
            for number, name in enumerate(names, 1)
        }
        between = Between(link)
        stack.callback(between.close)
        talks, steps = await _planned(conversations, servers, between)
        capture = directory / "client.pcap"
        evidence = Evidence({"client": capture})
        watching = asyncio.create_task(evidence.watch())
        stack.callback(watching.cancel)
        told = await _talk(agent, talks, directory / "plan.json", capture)
        await asyncio.sleep(SETTLE)
        delivered = await _delivered(servers)
        evidence.counters["client"] = told["counters"]
        for number, step in enumerate(steps):
            got = tuple(delivered[FIRST_PORT + number])
            evidence.words.append(Word(**step, **told["words"][str(number)], delivered=got))
        for name, server in servers.items():
            evidence.captures[name] = server.tap.write(directory / f"{name}.pcap")
            if isinstance(server.hooks, LinuxHooks):
                evidence.counters[name] = await server.hooks.counters()
    return evidence


async def _planned(
    conversations: Sequence[Conversation], servers: dict[str, ends.Server], between: Between
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The client's plan, and what is known of each connection by its number."""
    talks, known = [], []
    for family, (place, each) in itertools.product(host_families(), enumerate(conversations, 1)):
        server = servers[each.server]
        listeners = {name: await server.listener(name) for name in {s.port for s in each.steps}}
        steps = []
        for step in each.steps:
            number = len(known)
            port = FIRST_PORT + number
            between.meddle(step.path or Meddler, port, server)
            known.append({"conversation": each, "step": step, "family": family, "port": port})
            steps.append(
                {
                    "number": number,
                    "sport": port,
                    "dport": listeners[step.port],
                    "data": step.data.hex(),
                    "how": step.how,
                    "ends": step.ends,
                }
            )
        talks.append({"server": server.address(family, place), "steps": steps})
    return talks, known


async def _talk(
    agent: ends.Agent, talks: list[dict[str, Any]], plan: Path, capture: Path
) -> dict[str, Any]:
    plan.write_text(json.dumps({"pause": PAUSE, "conversations": talks}))
    program = [sys.executable, fast_open_client.__file__, str(plan), str(capture)]
    said = await agent.ask("run", program)
    if said["status"]:
        raise SetupError(f"the client failed: {said['errors'].strip()[-300:]}")
    told: dict[str, Any] = json.loads(b64decode(said["output"]))
    return told


async def _delivered(servers: dict[str, ends.Server]) -> dict[int, list[bytes]]:
    """What applications read, by the client's port."""
    found = defaultdict(list)
    for server in servers.values():
        for listener in server.listeners:
            for session in await server.hooks.sessions(listener):
                found[session.peer[1]].append(session.received)
    return found


def _segment(packet: bytes) -> Segment | None:
    """None for what is no TCP, such as an IPv6 host's own talk."""
    try:
        return Segment.from_bytes(packet)
    except MalformedPacketError:
        return None
