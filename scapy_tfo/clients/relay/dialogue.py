"""The conversation of a client with a real server."""

from __future__ import annotations

from typing import NoReturn

from scapy_tfo.clients.relay.upstream import Upstream
from scapy_tfo.suite.outcome import Skipped


class Relayed:
    """A real server answers, and nobody here knows what is said: TLS, DNS, any other.

    relay: that server. What is damaged on the way is for the two of them to notice.
    """

    name = "relayed"
    chosen = False

    def __init__(self, upstream: Upstream) -> None:
        self.relay: Upstream | None = upstream

    def is_complete(self, text: bytes, heard: bytes) -> bool:  # noqa: ARG002 - nobody knows
        self._unknown()

    def wrong(self, text: bytes, heard: bytes) -> str:  # noqa: ARG002 - likewise
        return ""

    def answer(self, body: bytes) -> bytes:  # noqa: ARG002 - likewise
        self._unknown()

    def _unknown(self) -> NoReturn:
        raise Skipped("needs a client whose conversation is known: that with a real server is not")
