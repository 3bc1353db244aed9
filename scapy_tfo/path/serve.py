"""`scapy-tfo path serve`: the far end on a host, and the agent that reports what arrived there."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import secrets
import signal
from base64 import b64encode
from ipaddress import ip_address
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import host_families
from scapy_tfo.path.far import CONTROL, MIRROR, Far
from scapy_tfo.path.observation import Heard, Sighting
from scapy_tfo.wire.links.server import ServerLink

TOOL = "scapy-tfo path"

_LARGEST = 4096
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(port: int) -> int:
    """Serve until a signal ends it; the exit status.

    port: of the echo with fast open; the mirror and the agent have the next two. Raises
    SetupError without CAP_NET_RAW, and where a port is taken.
    """
    ports = (port, port + MIRROR)
    try:
        link = ServerLink(ports, host_families())
    except PermissionError as error:
        raise SetupError("path serve needs CAP_NET_RAW: run it as root") from error
    except OSError as error:
        raise SetupError(
            f"cannot serve on ports {port} and {port + MIRROR}: {os.strerror(error.errno or 0)}"
        ) from error
    try:
        asyncio.run(_serve(link, port))
    finally:
        link.close()
    return 0


async def _serve(link: ServerLink, port: int) -> None:
    stop = asyncio.Event()
    for number in _ENDS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    far = Far(link.send, link.now, keys=[secrets.token_bytes(16)], seed=secrets.randbits(64))
    await far.listen(port, mirror=port + MIRROR)
    link.start(far.receive_at)
    agent = Agent(far, port, link.now)
    try:
        server = await asyncio.start_server(agent.talk, None, port + CONTROL, limit=_LARGEST)
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else str(error)
        raise SetupError(f"cannot serve on port {port + CONTROL}: {reason}") from error
    print(
        f"Serving as the far end of a path, on TCP ports {port} to {port + CONTROL}, until Ctrl-C. "
        "The agent tells anyone who asks which packets arrived.\n"
        f"Try, on the other host: scapy-tfo path HOST{'' if port == 7413 else f' --port {port}'}",
        flush=True,
    )
    await stop.wait()
    server.close()
    far.close()


class Agent:
    """Answers questions about the far end, one JSON line for each."""

    def __init__(self, far: Far, port: int, clock: Any) -> None:
        self._far = far
        self._port = port
        self._clock = clock

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One conversation, until the other side ends it or says what is no question."""
        own = ip_address(writer.get_extra_info("sockname")[0]).packed
        try:
            while line := await reader.readline():
                answer = await self._answer(json.loads(line), own)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        finally:
            writer.close()

    async def _answer(self, question: dict[str, Any], own: bytes) -> dict[str, Any]:
        """own: the address, packed, that the question came to: of others nothing is told."""
        match question["ask"]:
            case "hello":
                ports = {"port": self._port, "mirror": self._port + MIRROR}
                return {"tool": TOOL, "now": self._clock(), **ports}
            case "report":
                seen = self._far.sightings(float(question["since"]), own)
                return {
                    "seen": [_plain_sighting(each) for each in seen],
                    "heard": [_plain_heard(each) for each in self._far.heard(seen)],
                }
        raise ValueError("no such question")


def _plain_sighting(each: Sighting) -> list[Any]:
    return [each.when, each.sent, b64encode(each.packet).decode()]


def _plain_heard(each: Heard) -> list[Any]:
    return [*each.peer, b64encode(each.received).decode()]
