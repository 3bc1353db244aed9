"""The reference as the client of a schedule."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo.explore.conversation.opening import rewritten
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import SYN, Address, Segment


class Client(Stack):
    """The reference as a client that sends segments, not bytes.

    port: the one that it connects from. instead: what stands in its SYN for the Fast Open option.
    """

    port = 0
    instead: bytes | None = None

    def __init__(self, address: Address, settings: Settings, seed: int) -> None:
        super().__init__([address], settings, seed=seed)
        self.outgoing: list[Segment] = []

    def send(self, segment: Segment) -> None:
        if self._ip_fields is not None:
            segment = self._ip_fields.dress(segment)
        if segment.flags & SYN and self.instead is not None and segment.fast_open:
            segment = replace(segment, options=rewritten(segment.options, self.instead))
        self.outgoing.append(segment)

    def first_port(self) -> int:
        return self.port
