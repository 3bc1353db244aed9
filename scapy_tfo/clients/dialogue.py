"""The text that a client and our server exchange: raw bytes, HTTP, or what a real server says."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NoReturn

from scapy_tfo.clients.application import Dialogue
from scapy_tfo.errors import SetupError
from scapy_tfo.segment import ACK, FIN
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Inconclusive, Skipped

_END = b"\r\n\r\n"


class Raw:
    """The client sends a text that we choose, and reads until the server closes."""

    name = "raw"
    chosen = True
    relay: tuple[str, int] | None = None

    def is_complete(self, text: bytes, heard: bytes) -> bool:
        return heard == text

    def wrong(self, text: bytes, heard: bytes) -> str:
        if text.startswith(heard):
            return ""
        if len(heard) > len(text) and heard.startswith(text):
            return f"{len(heard) - len(text)} bytes more than the {len(text)} it had to send"
        pairs = enumerate(zip(text, heard, strict=False))
        at = next((i for i, (mine, theirs) in pairs if mine != theirs), 0)
        return f"other bytes than it had to send, from byte {at} on: {heard[at : at + 24]!r}"

    def answer(self, body: bytes) -> bytes:
        return body


class Http:
    """The client makes a request of its own, without a body."""

    name = "http"
    chosen = False
    relay: tuple[str, int] | None = None

    def is_complete(self, text: bytes, heard: bytes) -> bool:  # noqa: ARG002 - its own request
        return heard.endswith(_END)

    def wrong(self, text: bytes, heard: bytes) -> str:  # noqa: ARG002 - likewise
        if not any(each.startswith(heard[: len(each)]) for each in (b"GET /", b"HEAD /")):
            return f"no HTTP request, or not from its beginning: {heard[:24]!r}"
        head, end, behind = heard.partition(_END)
        if end and behind:
            return f"{len(behind)} bytes behind the request: {behind[:24]!r}"
        if head.count(b"HTTP/1.") > 1:
            return "a request within the request: text came twice"
        return ""

    def answer(self, body: bytes) -> bytes:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return head.encode() + body


class Post(Http):
    """The client makes a request of its own, with a body that we choose."""

    name = "post"
    chosen = True

    def is_complete(self, text: bytes, heard: bytes) -> bool:
        return heard.partition(_END)[2] == text

    def wrong(self, text: bytes, heard: bytes) -> str:
        if not b"POST /".startswith(heard[: len(b"POST /")]):
            return f"no POST request, or not from its beginning: {heard[:24]!r}"
        return Raw().wrong(text, heard.partition(_END)[2])


class Relayed:
    """A real server answers, and nobody here knows what is said: TLS, DNS, any other.

    relay: its host and port. What is damaged on the way is for the two of them to notice.
    """

    name = "relayed"
    chosen = False

    def __init__(self, host: str, port: int) -> None:
        self.relay: tuple[str, int] | None = (host, port)

    def is_complete(self, text: bytes, heard: bytes) -> bool:  # noqa: ARG002 - nobody knows
        self._unknown()

    def wrong(self, text: bytes, heard: bytes) -> str:  # noqa: ARG002 - likewise
        return ""

    def answer(self, body: bytes) -> bytes:  # noqa: ARG002 - likewise
        self._unknown()

    def _unknown(self) -> NoReturn:
        raise Skipped("needs a client whose conversation is known: that of --relay is not")


_PIECE = 1000
"""Bytes of a real server's in one segment of ours."""
_TURN = 0.002
"""Seconds between two looks at both ends."""


async def relayed(flow: Flow, relay: tuple[str, int] | None, within: float) -> bool:
    """Carry bytes between the client's connection and a real server until both have closed; False
    where there is no such server.

    within: seconds in which either has to say more. Raises Missing where neither does, Inconclusive
    where the server cannot be reached.
    """
    if relay is None:
        return False
    try:
        reader, writer = await asyncio.open_connection(*relay)
    except OSError as error:
        host, port = relay
        raise Inconclusive(
            f"the server of --relay {host}:{port} cannot be reached: {error}"
        ) from None
    pump = _Pump(flow, reader, writer)
    loop = asyncio.get_running_loop()
    until = loop.time() + within
    try:
        while not pump.is_over and not flow.was_reset:
            if pump.turn():
                until = loop.time() + within
            elif loop.time() > until:
                raise flow.missing("the end of the relayed conversation")
            await asyncio.sleep(_TURN)
    finally:
        pump.close()
    return True


class _Pump:
    """Carries what is there, each way."""

    def __init__(
        self, flow: Flow, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._flow, self._reader, self._writer = flow, reader, writer
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._sent = 0
        self._client_ended = self._server_ended = False
        self._reading = asyncio.ensure_future(self._read())

    @property
    def is_over(self) -> bool:
        return self._client_ended and self._server_ended

    async def _read(self) -> None:
        piece = b"-"
        while piece:
            try:
                piece = await self._reader.read(_PIECE)
            except OSError:
                piece = b""
            self._answers.put_nowait(piece)

    def turn(self) -> bool:
        """Carry on; whether there was anything."""
        stream, did = self._flow.stream, False
        if len(stream.data) > self._sent or stream.ended > self._client_ended:
            self._writer.write(bytes(stream.data[self._sent :]))
            self._sent, self._client_ended = len(stream.data), stream.ended
            self._flow.ack()
            if self._client_ended:
                # A server may have gone first.
                with contextlib.suppress(OSError):
                    self._writer.write_eof()
            did = True
        while not self._answers.empty():
            piece = self._answers.get_nowait()
            self._server_ended = not piece
            self._flow.send(ACK if piece else ACK | FIN, piece)
            did = True
        return did

    def close(self) -> None:
        self._reading.cancel()
        self._writer.close()


DIALOGUES: dict[str, type[Raw | Http]] = {each.name: each for each in (Raw, Http, Post)}


def make_dialogue(name: str) -> Dialogue:
    """The dialogue of that name. Raises SetupError where there is none."""
    if name not in DIALOGUES:
        raise SetupError(f"no such dialogue: '{name}'; there are {', '.join(DIALOGUES)}")
    return DIALOGUES[name]()
