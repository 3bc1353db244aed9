"""Symbolic cookies: those granted to each client, and the edits that spoil one."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.program.program import Cookie

Client = tuple[int, int]
"""Family and number of the source address."""

LONGEST = 38
"""Bytes of cookie for which a header has room."""


@dataclass(slots=True)
class Jar:
    """What the target has granted, by client. current: the newest; good: every one so far;
    addresses: packed, of those clients; granted_at: when each cookie came first, in seconds."""

    current: dict[Client, bytes] = field(default_factory=dict)
    addresses: dict[Client, bytes] = field(default_factory=dict)
    good: dict[Client, set[bytes]] = field(default_factory=dict)
    granted_at: dict[bytes, float] = field(default_factory=dict)

    def grant(self, client: Client, cookie: bytes, now: float) -> None:
        """Remember a cookie that came for a client at `now`, in seconds."""
        self.granted_at.setdefault(cookie, now)
        self.current[client] = cookie
        self.good.setdefault(client, set()).add(cookie)

    def age(self, cookie: bytes, now: float) -> float:
        """Seconds since a cookie came, 0 of one that never did."""
        return now - self.granted_at.get(cookie, now)

    def is_good(self, client: Client, cookie: bytes) -> bool:
        """Whether the target has granted this cookie to this client."""
        return cookie in self.good.get(client, ())

    def resolve(self, cookie: Cookie, client: Client, seen: dict[int, bytes]) -> bytes | None:
        """The bytes of a symbolic cookie; None where the target has granted nothing to make it of.

        seen: cookies that came in this program, by flow.
        """
        if cookie.of == "own":
            found = self.current.get(client)
        elif cookie.of == "other":
            found = self.current.get((client[0], 1 - client[1]))
        elif cookie.of.startswith("flow:"):
            found = seen.get(int(cookie.of[5:]))
        else:
            found = bytes.fromhex(cookie.of)
        if found is None:
            return None
        for name, number in cookie.edits:
            found = EDITS[name](found, number)
        return found[:LONGEST]
