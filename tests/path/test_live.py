"""Between two namespaces, with each box on a path of its own, all boxes are named at once."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from base64 import b64decode
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import host_families
from scapy_tfo.lab.links import two_ends
from scapy_tfo.lab.process.control import Agent
from scapy_tfo.middleboxes.box import Box, Out, Passed, read
from scapy_tfo.middleboxes.nat import BEYOND
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.middleboxes.tampering import DelaysSynWithData

CLIENT, SERVER = 100, 1
AGENT_PORT = 7415
COMMAND = [sys.executable, "-c", "import sys; from scapy_tfo.cli import main; sys.exit(main())"]
NEAR = [sys.executable, str(Path(__file__).with_name("near_program.py")), "0"]
DELAY = 0.01
LIMIT = 300.0
"""Seconds for all paths together."""

LATE = 0.6
"""Seconds: so late that it shows, and before another SYN goes."""


async def judged() -> dict[str, Any]:
    """The results by box; `told`: what the command says of the path that has none."""
    with ExitStack() as stack:
        client = await two_ends.namespace(stack, CLIENT, "1")
        server = await two_ends.namespace(stack, SERVER, "3", everywhere=True)
        families = host_families()
        servers = {
            name: two_ends.address(families[at % len(families)], SERVER, at + 1)
            for at, name in enumerate(BOXES)
        }
        own = two_ends.addresses([(CLIENT, 1)])
        outside = [each + BEYOND + turn for each in own for turn in range(64)]
        made = {name: sparing_the_agent(box)(random.Random(7)) for name, box in BOXES.items()}
        late = made["delays-syn-with-data"]
        assert isinstance(late, DelaysSynWithData)
        late.late = LATE
        crossing = two_ends.Crossing(
            two_ends.link_to(stack, client, list(servers.values())),
            two_ends.link_to(stack, server, [*own, *outside]),
            {servers[name]: [box] for name, box in made.items()},
            DELAY,
        )
        stack.callback(crossing.close)
        await server.ask("serve", [*COMMAND, "path", "serve"], {}, AGENT_PORT)
        found = json.loads(await run(client, *NEAR, *map(str, servers.values())))
        # On a machine that is busy a SYN may be late, and be called so: once more, by themselves.
        again = [str(at) for name, at in servers.items() if names(found[str(at)]) != right(name)]
        if again:
            found |= json.loads(await run(client, *NEAR, *again))
        told = await run(client, *COMMAND, "path", "--connections", "20", str(servers["none"]))
        return {name: found[str(at)] for name, at in servers.items()} | {"told": told.decode()}


def sparing_the_agent(box: type[Box]) -> type[Box]:
    """The box, for all but the conversations with the agent: who cannot ask it learns nothing."""

    class Sparing(box):  # type: ignore[misc, valid-type]
        def from_client(self, packet: bytes, now: float) -> Out:
            segment = read(packet)
            if box.after_handshake and segment is not None and segment.dport == AGENT_PORT:
                return [Passed(packet, True)]
            return super().from_client(packet, now)  # type: ignore[no-any-return]

        def from_server(self, packet: bytes, now: float) -> Out:
            segment = read(packet)
            if box.after_handshake and segment is not None and segment.sport == AGENT_PORT:
                return [Passed(packet, False)]
            return super().from_server(packet, now)  # type: ignore[no-any-return]

    return Sparing


def names(result: dict[str, Any]) -> list[str]:
    return [each["name"] for each in result["findings"]]


def right(box: str) -> list[str]:
    return [] if box == "none" else [box]


async def run(agent: Agent, *words: str) -> bytes:
    said = await agent.ask("run", words, LIMIT, limit=LIMIT + 1)
    assert said["status"] == 0, (said["errors"], b64decode(said["output"]))
    return b64decode(said["output"])


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    try:
        return asyncio.run(judged())
    except SetupError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", BOXES)
def test_a_box_between_two_kernels_is_named(results: dict[str, Any], name: str) -> None:
    assert names(results[name]) == right(name), results[name]


def test_the_command_says_so(results: dict[str, Any]) -> None:
    assert "IPv4: transparent" in results["told"]
    assert "granted 20 cookies" in results["told"]
