"""Data arrives whole and once through every box, or the box says why it cannot."""

from __future__ import annotations

import asyncio
import random

import pytest

from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.links.boxed import BoxedPath
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.memory.target import SOURCES, TARGET_V4, TARGET_V6
from scapy_tfo.middleboxes.box import Box
from scapy_tfo.middleboxes.registry import HANDSHAKE_BOXES
from scapy_tfo.middleboxes.tampering import DelaysSynWithData
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.runner.clock import run_virtually

PORT = 7
LIFE = 5.0
"""Seconds that a client keeps its connection: longer than any box holds a SYN back."""

SERVERS = {4: TARGET_V4, 6: TARGET_V6}


class Client(asyncio.Protocol):
    """Writes, reads what is echoed, and goes when it is told to."""

    def __init__(self) -> None:
        self.read = b""
        self.error: Exception | None = None

    def data_received(self, data: bytes) -> None:
        self.read += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc


async def deliver(
    box: type[Box], family: int, texts: list[bytes], *, life: float = LIFE
) -> tuple[list[bytes], list[bytes]]:
    """What the server's applications read, and each client its echo of: one after the other."""
    path = BoxedPath(
        [box(random.Random(family))],
        lambda packet: client.receive(packet),
        lambda packet: server.receive(packet),
    )
    # Every connection that is refused would keep the next one from trying again.
    forgiving = Settings(negative_lifetime=0.0, request_again_after=0.0)
    client = ReferenceHost(Stack(SOURCES, forgiving, seed=1), path.from_client)
    server = ReferenceHost(Stack([SERVERS[family]], seed=2), path.from_server)
    await server.listen(ListenerOptions("echo", queue=16), PORT)
    heard = []
    for text in texts:
        protocol = Client()
        transport = client.connect(protocol, SERVERS[family], PORT, data=text)
        await asyncio.sleep(life)
        transport.close()
        await asyncio.sleep(LIFE)
        heard.append(protocol.read)
    read = [each.received for each in await server.sessions(PORT)]
    client.close()
    server.close()
    return [each for each in read if each], heard


TEXTS = [b"first, for a cookie", b"in the SYN", bytes(range(256)) * 40, b"and again"]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("box", HANDSHAKE_BOXES.values(), ids=HANDSHAKE_BOXES)
def test_data_arrives_whole_and_once_or_the_box_says_why_not(box: type[Box], family: int) -> None:
    read, echoed = run_virtually(deliver(box, family, TEXTS))
    if box.no_client:
        assert read != TEXTS
    else:
        assert read == TEXTS
        assert echoed == TEXTS


def test_a_syn_that_comes_after_its_connection_is_taken_again() -> None:
    """RFC 7413 section 2.1: this the application has to bear."""

    class Later(DelaysSynWithData):
        def __init__(self, dice: random.Random) -> None:
            super().__init__(dice)
            self.late = 2.0

    read, _ = run_virtually(deliver(Later, 4, TEXTS[:2], life=1.5))
    assert read == [*TEXTS[:2], TEXTS[1]]
