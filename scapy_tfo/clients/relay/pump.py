"""Carries bytes between a client's connection and a real server."""

from __future__ import annotations

import asyncio
import contextlib

from scapy_tfo.clients.relay.upstream import Upstream
from scapy_tfo.segment import ACK, FIN
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Inconclusive

_PIECE = 1000
"""Bytes of a real server's in one segment of ours."""
_TURN = 0.002
"""Seconds between two looks at both ends."""


async def relayed(flow: Flow, upstream: Upstream | None, within: float) -> bool:
    """Carry bytes between the client's connection and a real server until both have closed; False
    where there is no such server.

    within: seconds in which either has to say more. Raises Missing where neither does, Inconclusive
    where the server cannot be reached.
    """
    if upstream is None:
        return False
    try:
        reader, writer = await upstream.connect()
    except OSError as error:
        raise Inconclusive(f"{upstream.name} cannot be reached: {error}") from None
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
