"""Records what the applications of a target have seen on each connection."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

from scapy_tfo.lab.hooks import Session

MAX_RECEIVED = 1 << 20
"""Bytes kept of one connection; what comes after them is read and forgotten."""

MAX_SESSIONS = 4096
"""Connections kept of one listener, the newest."""


def _nothing() -> None:
    """There is no connection to end."""


class Record:
    """One connection while it lives. Fields as in `Session`; abort: ends the connection."""

    __slots__ = ("_limit", "abort", "closed", "eof", "error", "peer", "received")

    def __init__(
        self,
        peer: tuple[str, int],
        limit: int = MAX_RECEIVED,
        abort: Callable[[], None] = _nothing,
    ) -> None:
        self._limit = limit
        self.abort = abort
        self.peer = peer
        self.received = bytearray()
        self.eof = 0
        self.error = ""
        self.closed = False

    def add(self, data: bytes) -> None:
        """Keep received bytes, up to the limit in all."""
        self.received += data[: self._limit - len(self.received)]

    def session(self) -> Session:
        """As it stands now."""
        return Session(self.peer, bytes(self.received), self.eof, self.error, self.closed)


class SessionLog:
    """The connections of one listener, oldest first.

    sessions: how many are kept, the newest. received: bytes kept of each.
    """

    def __init__(self, *, sessions: int = MAX_SESSIONS, received: int = MAX_RECEIVED) -> None:
        self._records: deque[Record] = deque(maxlen=sessions)
        self._received = received

    def open(self, peer: tuple[str, int], abort: Callable[[], None] = _nothing) -> Record:
        """Begin the record of an accepted connection. abort: ends it."""
        record = Record(peer, self._received, abort)
        self._records.append(record)
        return record

    def sessions(self) -> list[Session]:
        """All of them as they stand now."""
        return [each.session() for each in self._records]

    def settle(self, peers: Collection[tuple[str, int]]) -> list[Session]:
        """Those of some clients as they stand now. They are forgotten, and what is open ends."""
        settled = [each for each in self._records if each.peer in peers]
        sessions = [each.session() for each in settled]
        kept = [each for each in self._records if each.peer not in peers]
        self._records.clear()
        self._records.extend(kept)
        for each in settled:
            if not each.closed:
                each.abort()
        return sessions


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
