"""What the answer to a SYN may acknowledge and carry, by the cookie of the SYN (RFC 7413 4.2.2)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.explore.run import Problem
from scapy_tfo.option import FastOpen
from scapy_tfo.oracle.parts.profile import ANY, REQUEST, Profile
from scapy_tfo.segment import Segment


class Handshake:
    """The handshake of one connection. isn: the client's. cookie: its good one. taken: a
    right target takes the data that comes with it.

    answered: the target sent a SYN-ACK. acked: an ACK behind it has come to the target.
    """

    def __init__(self, profile: Profile, isn: int, cookie: bytes, *, taken: bool) -> None:
        self._profile = profile
        self._taken = taken
        self._isn = isn
        self._cookie = cookie
        self._syns: list[Segment] = []
        self.answered = self.acked = False

    def sent(self, segment: Segment) -> None:
        """A SYN came to the target."""
        self._syns.append(segment)

    def _is_good(self, segment: Segment) -> bool:
        """Whether its data may be taken at once."""
        cookie = segment.cookie
        if cookie is not None and cookie and cookie == self._cookie:
            return True
        opens = self._profile.opens_without
        return ANY in opens or (REQUEST in opens and cookie == b"")

    def came(self, segment: Segment, number: int) -> Problem | None:
        """The target sent a segment with SYN; what is wrong with it."""
        first, self.answered = not self.answered, True
        if not self._syns:
            return Problem("answer-to-nothing", number, "no SYN-ACK without a SYN", str(segment))
        acked = seq.distance(self._isn, segment.ack) - 1
        sizes = [len(each.payload) for each in self._syns]
        most = max(sizes) if self._may_take() else 0
        if not 0 <= acked <= most:
            return Problem(
                "syn-ack-number", number, f"0 to {most} bytes acknowledged", f"{acked} bytes"
            )
        opening = self._syns[0]
        if first and len(self._syns) == 1:
            return self._first(segment, opening, acked, number)
        return None

    def _may_take(self) -> bool:
        return self._profile.holds_data or any(map(self._is_good, self._syns))

    def _first(self, segment: Segment, opening: Segment, acked: int, number: int) -> Problem | None:
        profile = self._profile
        wanted = min(len(opening.payload), profile.syn_text)
        if self._taken and self._cookie and opening.cookie == self._cookie and acked < wanted:
            return Problem("fast-open-refused", number, f"{wanted} bytes taken", f"{acked} bytes")
        granted = [each for each in segment.fast_open if isinstance(each, FastOpen)]
        if opening.cookie is None and segment.fast_open:
            return Problem("option-unasked", number, "no Fast Open option", str(segment))
        grants = profile.fast_open and not profile.opens_without
        if opening.cookie == b"" and grants and not any(each.cookie for each in granted):
            return Problem("no-cookie", number, "a cookie for a request", str(segment))
        return None

    def handed_over(self) -> Problem | None:
        """The application got the connection."""
        if self.acked or any(map(self._is_good, self._syns)):
            return None
        return Problem(
            "handed-over-early",
            -1,
            "no connection for the application before the handshake ends",
            "accepted behind the SYN, without a good cookie",
        )
