"""The application of a schedule's server."""

from __future__ import annotations

import asyncio

from scapy_tfo.clients.application import Dialogue
from scapy_tfo.clients.connection import BODY

_LONG = 3000
"""Times the usual answer, where it is long."""
_PIECES = 3


class ServerApplication(asyncio.Protocol):
    """Takes the client's text, and does then what its name says, see `schedule.SERVERS`.

    heard: what came. wrong: why that is not the client's text, "" where it is, so far. body: what
    the client's application is to receive. ended: the client's side of the stream ended. done: the
    connection is over. broke: how it ended, where not in order.
    """

    def __init__(self, name: str, text: bytes, dialogue: Dialogue) -> None:
        word, _, number = name.partition(":")
        self.name, self._wait = word, int(number or 0) / 1000
        self._text, self._dialogue = text, dialogue
        self.heard, self.wrong = bytearray(), ""
        self.body = {"long": BODY * _LONG, "pieces": BODY * _LONG, "silent": b""}.get(word, BODY)
        self._answer = b"" if word == "silent" else dialogue.answer(self.body)
        self._said = 0
        self.ended = self.done = self.answered = False
        self.broke = ""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self.name == "slow-reader":
            transport.pause_reading()
            self._loop.call_later(self._wait, transport.resume_reading)
        elif self.name == "speaks-first":
            self._say(len(self._answer) // 2)

    def data_received(self, data: bytes) -> None:
        self.heard += data
        self.wrong = self.wrong or self._dialogue.wrong(self._text, bytes(self.heard))
        if self.answered or not self._dialogue.is_complete(self._text, bytes(self.heard)):
            return
        self.answered = True
        if self.name == "think":
            self._loop.call_later(self._wait, self._do)
        else:
            self._do()

    def _do(self) -> None:
        if self.name == "aborts":
            self.done = True
            self._transport.abort()
        elif self.name == "pieces":
            self._piece()
        else:
            self._say(len(self._answer))
            if self.name == "late-close":
                self._loop.call_later(self._wait, self._transport.close)
            else:
                self._transport.close()

    def _piece(self) -> None:
        self._say(self._said + len(self._answer) // _PIECES + 1)
        if self._said < len(self._answer):
            self._loop.call_later(self._wait, self._piece)
        else:
            self._transport.close()

    def _say(self, upto: int) -> None:
        piece, self._said = self._answer[self._said : upto], min(upto, len(self._answer))
        if piece:
            self._transport.write(piece)

    def eof_received(self) -> bool:
        self.ended = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.done = True
        self.broke = "" if exc is None else str(exc)
