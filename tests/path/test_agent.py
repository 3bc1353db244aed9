"""The agent answers questions, tells no address about another, and survives any nonsense."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from scapy_tfo.address import known_address
from scapy_tfo.path.far import Far
from scapy_tfo.path.serve import Agent
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address

HERE, THERE = (known_address(bytes([127, 0, 0, last])) for last in (1, 2))
CLIENT = known_address(bytes([192, 0, 2, 9]))
PORT = 7413


async def asked(*lines: bytes, about: Address = HERE) -> list[dict[str, Any]]:
    """What the agent answers on 127.0.0.1 when a SYN has come for `about`."""
    far = Far(lambda _packet: None, lambda: 5.0, keys=[bytes(16)], seed=0)
    await far.listen(PORT, mirror=PORT + 1)
    client = Stack([CLIENT])
    client.connect(CLIENT, about, PORT, data=b"text", now=0.0)
    far.receive(client.take_packets()[0])
    agent = Agent(far, PORT, lambda: 5.0)
    server = await asyncio.start_server(agent.talk, str(HERE), 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"".join(lines))
    writer.write_eof()
    said = (await reader.read()).splitlines()
    writer.close()
    server.close()
    far.close()
    return [json.loads(each) for each in said]


def test_it_greets() -> None:
    (said,) = asyncio.run(asked(b'{"ask": "hello"}\n'))
    assert said == {"tool": "scapy-tfo path", "now": 5.0, "port": PORT, "mirror": PORT + 1}


def test_it_tells_what_came_and_what_was_answered() -> None:
    (said,) = asyncio.run(asked(b'{"ask": "report", "since": 0}\n'))
    assert [(when, sent) for when, sent, _ in said["seen"]] == [(5.0, False), (5.0, True)]


def test_of_another_address_it_tells_nothing() -> None:
    (said,) = asyncio.run(asked(b'{"ask": "report", "since": 0}\n', about=THERE))
    assert said["seen"] == []


def test_of_earlier_times_it_tells_nothing() -> None:
    (said,) = asyncio.run(asked(b'{"ask": "report", "since": 6}\n'))
    assert said["seen"] == []


@pytest.mark.parametrize(
    "nonsense",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"[" * 60_000 + b"\n",
        b'{"ask": "report"}\n',
        b'["ask"]\n',
        b'{"ask": "all"}\n',
    ],
)
def test_nonsense_ends_the_conversation(nonsense: bytes) -> None:
    assert asyncio.run(asked(nonsense, b'{"ask": "hello"}\n')) == []
