"""What is judged: a way to it, its addresses and ports, and what can be done from the inside."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.lab.hooks import Hooks
from scapy_tfo.segment import Address
from scapy_tfo.suite.app import App
from scapy_tfo.wire.link import Link


@dataclass(frozen=True, slots=True)
class Service:
    """A listening port and the application behind it."""

    port: int
    app: App


@dataclass(slots=True, kw_only=True)
class Target:
    """A stack under judgement.

    name: as the user gave it. addresses: by family, 4 or 6. main: the listener that cases use
    unless they ask for another. plain: one with fast open off. second: another with fast open.
    hooks: only in targets of our own. gives_up_after: seconds for which it sends data again
    without an answer; RFC 9293 section 3.8.3 wants 100 at least.
    """

    name: str
    link: Link
    addresses: dict[int, Address]
    main: Service
    plain: Service | None = None
    second: Service | None = None
    hooks: Hooks | None = None
    has_counters: bool = False
    gives_up_after: float = 100.0
    kept: list[object] = field(default_factory=list)

    def sources(self, family: int) -> list[Address]:
        """Addresses of that family that may be sent from, the preferred first."""
        return [each for each in self.link.sources if each.version == family]

    def meets(self, need: str, family: int) -> bool:
        """Whether a need of suite.registry.NEEDS is met."""
        return {
            "answer": self.main.app.answers,
            "echo": self.main.app.name == "echo",
            "two_addresses": len(self.sources(family)) > 1,
            "listeners": self.hooks is not None,
            "sessions": self.hooks is not None,
            "key_hook": self.hooks is not None,
            "plain_port": self.plain is not None,
            "second_port": self.second is not None,
            "counters": self.has_counters,
        }[need]
