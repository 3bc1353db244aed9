"""Two kernels and a box between them: data arrives whole and once, or the box says why not."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
from base64 import b64decode
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.kernel.target import LinuxHooks, host_families
from scapy_tfo.lab.links import two_ends
from scapy_tfo.middleboxes import tampering
from scapy_tfo.middleboxes.nat import BEYOND
from scapy_tfo.middleboxes.registry import HANDSHAKE_BOXES

CLIENT, SERVER = 100, 1
PROGRAM = [sys.executable, str(Path(__file__).with_name("kernel_client.py"))]
LIMIT = 300.0
"""Seconds for all connections together."""


WAYS = ("msg", "connect", "curl")
"""See kernel_client.py."""

EVERY = [(way, name) for way in WAYS for name in HANDSHAKE_BOXES]


def texts(way: str, name: str) -> list[bytes]:
    """A request for a cookie, a fast open, one that fills its SYN and more, and another; where no
    client can have its data arrive, one fast open is enough."""
    begins = f"{way}/{name}/".encode()
    all_of_them = [begins + b"0", begins + b"1" * 40, begins + b"2" * 5000, begins + b"3"]
    return all_of_them[:2] if HANDSHAKE_BOXES[name].no_client else all_of_them


LINUX_GIVES_UP = {"prohibits-syn-with-data"}
"""It ends a connection in SYN-SENT for any ICMP unreachable (RFC 5461 section 4), and tries fast
open again on the next one, against RFC 7413 section 4.1.3.1; the reference does neither."""


@dataclass
class Outcome:
    """By way and box: what came back to the client on each connection. read: all that the servers'
    applications did; of curl's requests, what they ask for."""

    echoed: dict[tuple[str, str], list[bytes]]
    read: list[bytes]


def asked_for(request: bytes) -> bytes:
    """Of a request that is there once, from its beginning to its end; else all of it."""
    line, _, rest = request.partition(b" HTTP/1.1\r\n")
    whole = line.startswith(b"GET /") and rest.endswith(b"\r\n\r\n") and b"HTTP/" not in rest
    return line.removeprefix(b"GET /") if whole else request


def can_run(way: str) -> bool:
    return way != "curl" or shutil.which("curl") is not None


async def hold(file: Path) -> Outcome:
    with ExitStack() as stack:
        client = await two_ends.namespace(stack, CLIENT, "1")
        server = await two_ends.namespace(stack, SERVER, "3", everywhere=True)
        hooks = LinuxHooks(server)
        echo = await hooks.listen(ListenerOptions("echo", queue=512))
        web = await hooks.listen(ListenerOptions("http", queue=512))
        families = host_families()
        servers = {
            (way, name): two_ends.address(families[(at + 1) % len(families)], SERVER, at + 1)
            for at, (way, name) in enumerate(EVERY)
        }
        own = two_ends.addresses([(CLIENT, 1)])
        outside = [each + BEYOND + turn for each in own for turn in range(64)]
        crossing = two_ends.Crossing(
            two_ends.link_to(stack, client, list(servers.values())),
            two_ends.link_to(stack, server, [*own, *outside]),
            {servers[way, name]: [HANDSHAKE_BOXES[name](random.Random(7))] for way, name in EVERY},
        )
        stack.callback(crossing.close)
        plan = {
            f"{way} {name}": [
                way,
                str(at),
                web if way == "curl" else echo,
                [each.hex() for each in texts(way, name)],
            ]
            for (way, name), at in servers.items()
            if can_run(way)
        }
        file.write_text(json.dumps(plan))
        said = await client.ask("run", [*PROGRAM, str(file)], LIMIT, limit=LIMIT + 1)
        assert said["status"] == 0, said["errors"]
        told = json.loads(b64decode(said["output"]))
        read = [each.received for each in await hooks.sessions(echo)]
        read += [asked_for(each.received) for each in await hooks.sessions(web)]
    echoed = {
        (way, name): [bytes.fromhex(answer) for answer, _ in told[f"{way} {name}"]]
        for way, name in EVERY
        if can_run(way)
    }
    return Outcome(echoed, read)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    late = tampering.LATE
    # Before the client closes its connection: see the test in memory for what comes then.
    tampering.LATE = (0.5, 0.5)
    try:
        return asyncio.run(hold(tmp_path_factory.mktemp("kernels") / "plan.json"))
    except SetupError as error:
        pytest.skip(str(error))
    finally:
        tampering.LATE = late


@pytest.mark.parametrize("name", HANDSHAKE_BOXES)
@pytest.mark.parametrize("way", WAYS)
def test_linux_delivers_whole_and_once_or_the_box_says_why_not(
    outcome: Outcome, way: str, name: str
) -> None:
    if not can_run(way):
        pytest.skip("curl is not installed: apt-get install curl")
    sent = texts(way, name)
    read = [each for each in outcome.read if each in sent]
    if name in LINUX_GIVES_UP:
        assert sent[0] in read
        assert len(read) == len(set(read))
    elif HANDSHAKE_BOXES[name].no_client:
        # The data of a SYN that passes is read, though nobody can say so.
        assert outcome.echoed[way, name] != sent or sorted(read) != sent
    else:
        assert outcome.echoed[way, name] == sent
        assert sorted(read) == sent
