"""Records what the applications of a target have seen on each connection."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from typing import Any

from scapy_tfo.lab.hooks import Session

MAX_RECEIVED = 1 << 20
"""Bytes kept of one connection; what comes after them is read and forgotten."""

MAX_SESSIONS = 4096
"""Connections kept of one listener, the newest."""


class Record:
    """One connection while it lives. Fields as in `Session`."""

    __slots__ = ("_limit", "closed", "eof", "error", "peer", "received")

    def __init__(self, peer: tuple[str, int], limit: int = MAX_RECEIVED) -> None:
        self._limit = limit
        self.peer = peer
        self.received = bytearray()
        self.eof = 0
        self.error = ""
        self.closed = False

    def add(self, data: bytes) -> None:
        """Keep received bytes, up to the limit in all."""
        self.received += data[: self._limit - len(self.received)]


class SessionLog:
    """The connections of one listener, oldest first.

    sessions: how many are kept, the newest. received: bytes kept of each.
    """

    def __init__(self, *, sessions: int = MAX_SESSIONS, received: int = MAX_RECEIVED) -> None:
        self._records: deque[Record] = deque(maxlen=sessions)
        self._received = received

    def open(self, peer: tuple[str, int]) -> Record:
        """Begin the record of an accepted connection."""
        record = Record(peer, self._received)
        self._records.append(record)
        return record

    def sessions(self) -> list[Session]:
        """All of them as they stand now."""
        return [
            Session(each.peer, bytes(each.received), each.eof, each.error, each.closed)
            for each in self._records
        ]


def to_json(session: Session) -> dict[str, Any]:
    """A session as plain JSON values, its bytes in base64."""
    return {
        "peer": session.peer,
        "received": b64encode(session.received).decode(),
        "eof": session.eof,
        "error": session.error,
        "closed": session.closed,
    }


def from_json(values: dict[str, Any]) -> Session:
    """The session that `to_json` wrote."""
    host, port = values["peer"]
    return Session(
        (host, port),
        b64decode(values["received"]),
        values["eof"],
        values["error"],
        values["closed"],
    )
