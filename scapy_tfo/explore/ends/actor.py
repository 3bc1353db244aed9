"""What the applications at both ends have in common, and what it notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from scapy_tfo.reference.states import (
    Closed,
    EndOfStream,
    Endpoint,
    Event,
    Received,
    Reset,
)

_PERIOD = bytes(range(251))


class Clock(Protocol):
    """now: seconds. later: call something after so many seconds."""

    @property
    def now(self) -> float: ...

    def later(self, seconds: float, act: Callable[[], None]) -> None: ...


def pattern(size: int, start: int = 0) -> bytes:
    """Bytes that tell where they stand: a period that is prime."""
    first = start % len(_PERIOD)
    return (_PERIOD * ((first + size) // len(_PERIOD) + 1))[first : first + size]


class Actor:
    """What all have in common: the record of what was written, read, told and done.

    accepted: how often the connection was handed over. error: of the connection, None where it
    ended in order or has not ended. finished: it wrote all that it ever will. done: it closed for
    reading and writing. aborted: it reset the connection. reading: it takes what comes. had:
    bytes that it had read when it closed.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.endpoint: Endpoint | None = None
        self.accepted = 0
        self.wrote = bytearray()
        self.received = bytearray()
        self.eof = 0
        self.error: str | None = None
        self.ended = False
        self.finished = self.done = self.aborted = False
        self.reading = True
        self.had = 0
        self.on_reading: Callable[[bool], None] = lambda _reads: None

    # Told by the stack.

    def begin(self, endpoint: Endpoint) -> None:
        """The connection is there."""
        self.accepted += 1
        if self.endpoint is None:
            self.endpoint = endpoint
            self.opened()

    def tell(self, event: Event) -> None:
        """Something happened to the connection, after it was handed over."""
        if isinstance(event, Received):
            self.take(event.data)
        elif isinstance(event, EndOfStream):
            self.end_of_stream()
        elif isinstance(event, Reset):
            self.end(event.error)
        elif isinstance(event, Closed):
            self.end(None)

    def take(self, data: bytes) -> None:
        """Bytes have come."""
        self.received += data
        self.read(data)

    def end_of_stream(self) -> None:
        """The peer has sent all."""
        self.eof += 1
        self.peer_ended()

    def end(self, error: str | None) -> None:
        """The connection is over."""
        self.ended = True
        self.error = error

    # What an application does.

    def opened(self) -> None:
        """The connection is there."""

    def read(self, _data: bytes) -> None:
        """Bytes have come."""

    def peer_ended(self) -> None:
        """The peer has sent all."""
        self.close()

    # For those.

    def write(self, data: bytes) -> None:
        """Write, unless it has closed."""
        if self.finished or self.ended or self.endpoint is None:
            return
        self.wrote += data
        self.endpoint.write(data, self.clock.now)

    def shutdown(self) -> None:
        """End the own stream, and go on reading."""
        if not self.finished and self.endpoint is not None:
            self.finished = True
            self.endpoint.shutdown(self.clock.now)

    def close(self) -> None:
        """Be done with both directions."""
        if not self.done and self.endpoint is not None:
            self.finished = self.done = True
            self.had = len(self.received)
            self.endpoint.close(self.clock.now)

    def abort(self) -> None:
        """Reset the connection."""
        if self.endpoint is not None and not self.aborted:
            self.finished = self.done = self.aborted = True
            self.endpoint.abort(self.clock.now)

    def pause(self) -> None:
        """Read no more."""
        self.reading = False
        self.on_reading(False)
        if self.endpoint is not None:
            self.endpoint.pause()

    def read_some(self, size: int) -> None:
        """While it reads no more, take so many bytes of what has come."""
        if not self.reading and self.endpoint is not None:
            self.endpoint.read_some(size, self.clock.now)

    def resume(self) -> None:
        """Read again."""
        if not self.reading and self.endpoint is not None:
            self.reading = True
            self.on_reading(True)
            self.endpoint.resume(self.clock.now)
