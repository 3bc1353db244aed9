"""Connection states and the events that an application sees."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from scapy_tfo.values import value

if TYPE_CHECKING:
    from scapy_tfo.reference.core import Core
    from scapy_tfo.reference.server import Listener


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


@value(frozen=True, slots=True)
class Accepted:
    """A connection for the application: at the SYN of a fast open, else when established."""

    connection: Core
    listener: Listener


@value(frozen=True, slots=True)
class Connected:
    """An active open succeeded."""

    connection: Core


@value(frozen=True, slots=True)
class Received:
    """The next bytes of the stream."""

    connection: Core
    data: bytes


@value(frozen=True, slots=True)
class EndOfStream:
    """The peer sent FIN: no more bytes will come. Told once."""

    connection: Core


@value(frozen=True, slots=True)
class Reset:
    """The connection failed: `ECONNRESET`, `ECONNREFUSED`, `ETIMEDOUT`, `EHOSTUNREACH`.

    The last event of its connection.
    """

    connection: Core
    error: str


@value(frozen=True, slots=True)
class Closed:
    """Both directions have ended in order, or the application gave up. The last event."""

    connection: Core


Event = Accepted | Connected | Received | EndOfStream | Reset | Closed
