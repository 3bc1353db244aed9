"""How far each direction of a connection is, as its application sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class SocketState:
    """One connection's. Numbers of bytes in each direction since the first byte of data.

    written: by the application. sent: by the target. acked: of the peer's data, by the target.
    """

    descriptor: int | None = None
    is_open: bool = False
    is_begun: bool = False
    is_over: bool = False
    has_fin: bool = False
    has_room: bool = False
    written: int = 0
    sent: int = 0
    acked: int = 0
    read: int = 0
    peer_end: int | None = None
