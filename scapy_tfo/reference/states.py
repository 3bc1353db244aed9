"""Connection states and the events that an application sees."""

from __future__ import annotations

import enum
from typing import Protocol

from scapy_tfo.segment import Address
from scapy_tfo.values import value


class State(enum.Enum):
    """RFC 9293 section 3.3.2. A listener is an object of its own, so LISTEN is not among them."""

    SYN_SENT = "SYN-SENT"
    SYN_RCVD = "SYN-RECEIVED"
    ESTABLISHED = "ESTABLISHED"
    FIN_WAIT_1 = "FIN-WAIT-1"
    FIN_WAIT_2 = "FIN-WAIT-2"
    CLOSE_WAIT = "CLOSE-WAIT"
    CLOSING = "CLOSING"
    LAST_ACK = "LAST-ACK"
    TIME_WAIT = "TIME-WAIT"
    CLOSED = "CLOSED"


ABORTED_IN_SILENCE = (State.SYN_SENT, State.CLOSING, State.LAST_ACK, State.TIME_WAIT)
"""Those in which an abort sends no RST (RFC 9293 section 3.10.5)."""


def settled(*, fin_sent: bool, fin_acked: bool, fin_received: bool, received_first: bool) -> State:
    """The state of a connection whose handshake is over, read off the FINs (RFC 9293 3.3.2).

    received_first: the peer's FIN came before ours was sent.
    """
    if not fin_sent:
        return State.CLOSE_WAIT if fin_received else State.ESTABLISHED
    if not fin_received:
        return State.FIN_WAIT_2 if fin_acked else State.FIN_WAIT_1
    if received_first:
        return State.CLOSED if fin_acked else State.LAST_ACK
    return State.TIME_WAIT if fin_acked else State.CLOSING


class Endpoint(Protocol):
    """A connection as its application sees it. local, remote: address and port of each end.
    congestion_control: as hosts name it.

    Times are seconds on the clock of the host. pause and resume: stop reading, and go on;
    read_some: meanwhile, take so many bytes. shutdown: end our stream and go on reading; close: be
    done with both.
    """

    local: tuple[Address, int]
    remote: tuple[Address, int]
    congestion_control: str

    def write(self, data: bytes, now: float) -> None: ...

    def pause(self) -> None: ...

    def read_some(self, size: int, now: float) -> None: ...

    def resume(self, now: float) -> None: ...

    def shutdown(self, now: float) -> None: ...

    def close(self, now: float) -> None: ...

    def abort(self, now: float) -> None: ...


class Listening(Protocol):
    """A listener as its application sees it."""

    port: int


@value(frozen=True, slots=True)
class Accepted:
    """A connection for the application: at the SYN of a fast open, else when established."""

    connection: Endpoint
    listener: Listening


@value(frozen=True, slots=True)
class Connected:
    """An active open succeeded."""

    connection: Endpoint


@value(frozen=True, slots=True)
class Received:
    """The next bytes of the stream."""

    connection: Endpoint
    data: bytes


@value(frozen=True, slots=True)
class EndOfStream:
    """The peer sent FIN: no more bytes will come. Told once."""

    connection: Endpoint


@value(frozen=True, slots=True)
class Reset:
    """The connection failed: `ECONNRESET`, `ECONNREFUSED`, `ETIMEDOUT`, `EHOSTUNREACH`.

    The last event of its connection.
    """

    connection: Endpoint
    error: str


@value(frozen=True, slots=True)
class Closed:
    """Both directions have ended in order, or the application gave up. The last event."""

    connection: Endpoint


Event = Accepted | Connected | Received | EndOfStream | Reset | Closed
