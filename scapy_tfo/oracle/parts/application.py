"""The application behind a target's listener: what it may say, and what it has to.

The oracle asks it about bytes, never about packets. Who knows nothing of a target's application
takes `Unknown`: the rules of the transport still hold.
"""

from __future__ import annotations

from scapy_tfo.program.payload import text, wrong_text

ANYTHING = 1 << 40
"""Bytes: more than any connection carries."""


class Application:
    """What an application does with the text that it is given, `given` bytes from the first on.

    told: what it says is known; only then it is asked. closes: it closes once our FIN has come and
    all has been said, and not before. aborts: it may reset a connection that it was handed.
    """

    told: bool
    closes: bool
    aborts: bool

    def most(self, given: int) -> int:
        """Bytes that it may have said by now."""
        raise NotImplementedError

    def due(self, given: int) -> int:
        """Bytes that it has to say."""
        raise NotImplementedError

    def is_right(self, flow: int, start: int, payload: bytes, odd: list[tuple[int, int]]) -> bool:
        """Whether bytes may be what it says at a place. flow: number of the flow. start: number of
        the place, from our ISN. odd: places where we sent other text than the flow's own, too."""
        raise NotImplementedError


class Echo(Application):
    """Says all that it is given, and closes when its peer does (RFC 862)."""

    def __init__(self) -> None:
        self.told = self.closes = True
        self.aborts = False

    def most(self, given: int) -> int:
        return given

    def due(self, given: int) -> int:
        return given

    def is_right(self, flow: int, start: int, payload: bytes, odd: list[tuple[int, int]]) -> bool:
        right = text(flow, start, len(payload))
        if payload == right:
            return True
        if not odd:
            return False
        wrong = wrong_text(flow, start, len(payload))
        return all(
            one == right[at] or (one == wrong[at] and any(a <= start + at < b for a, b in odd))
            for at, one in enumerate(payload)
        )


class Unknown(Application):
    """May say anything once it may have the connection, close or reset it, and owes nothing."""

    def __init__(self) -> None:
        self.told = self.closes = False
        self.aborts = True
