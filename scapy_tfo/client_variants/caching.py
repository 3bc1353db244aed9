"""What a client remembers of servers, and for how long (RFC 7413 4.1.3)."""

from __future__ import annotations

from typing import Any

from scapy_tfo.client_variants.registry import add, client_variant
from scapy_tfo.reference.cache import Cache, Entry, Pair
from scapy_tfo.reference.client import ActiveConnection, Plan
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import Address, Segment

_MINUTE, _HOUR = 60.0, 3600.0


@client_variant({"client-mss-cache": "536 or 1220 always"})
class RemembersNoMss(Cache):
    """Whatever MSS a server announced, the data of a SYN is bounded by 536 or 1220 bytes."""

    def learn(self, client: Address, server: Address, **news: Any) -> None:
        super().learn(client, server, **news | {"mss": None})


@client_variant({"client-off-scope": "all ports of the address"})
class LeavesAllPortsAlone(Cache):
    """A refusal at one port of a server keeps fast open from all of its ports."""

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        super().refuse(client, server, 0, now)

    def is_refused(self, client: Address, server: Address, port: int, now: float) -> bool:
        return super().is_refused(client, server, 0, now)


class _Noting(Cache):
    """It keeps with each cookie from which port it came, and when, in seconds."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.origins: dict[Pair, tuple[int, float]] = {}


class _Choosy(ActiveConnection):
    """It does not use every cookie that is there, and asks for another one instead."""

    def suits(self, port: int, age: float) -> bool:
        """Whether a cookie is used that came from that port, so many seconds ago."""
        return True

    def plan(self, now: float) -> Plan:
        port, since = self._notes.get((self.local[0], self.remote[0]), (self.remote[1], now))
        if not self.suits(port, now - since):
            self.cached = Entry(mss=self.cached.mss, rtt=self.cached.rtt)
        return super().plan(now)

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if self.read_cookie(segment) is not None:
            self._notes[self.local[0], self.remote[0]] = (self.remote[1], now)

    @property
    def _notes(self) -> dict[Pair, tuple[int, float]]:
        assert isinstance(self.stack.cache, _Noting)
        return self.stack.cache.origins


@client_variant({"client-cookie-scope": "no"}, more=(_Noting,))
class CookieStaysAtItsPort(_Choosy):
    """A cookie is not used at another port of the server than it came from."""

    def suits(self, port: int, age: float) -> bool:
        return port == self.remote[1] and super().suits(port, age)


@client_variant({"client-cookie-life": "for an hour"}, more=(_Noting,))
class CookieLivesAnHour(_Choosy):
    """A cookie is used for an hour, and then another one is asked for."""

    def suits(self, port: int, age: float) -> bool:
        return age <= _HOUR and super().suits(port, age)


@client_variant({"client-cookie-life": "for a minute"}, more=(_Noting,), combines=False)
class CookieLivesAMinute(_Choosy):
    """A cookie is used for a minute, and then another one is asked for."""

    def suits(self, port: int, age: float) -> bool:
        return age <= _MINUTE and super().suits(port, age)


add(
    "remembers-one-server",
    "The cookie of one server is forgotten as soon as there is one of another.",
    {"client-cookie-life": "one"},
    combines=False,
    cache_size=1,
)
add(
    "remembers-four-servers",
    "The cache has room for four servers; the one used least recently is forgotten.",
    {"client-cookie-life": "a few"},
    cache_size=4,
)
add(
    "uses-a-large-mss",
    "Where the server's MSS is large, and the link is, the data of a SYN is large, too.",
    {"client-mss-cap": "the server's MSS"},
    mtu=9000,
    cap_mss=False,
)
add(
    "forgets-who-grants-nothing",
    "A server that answers a request without a cookie is forgotten.",
    {"client-forgets": "yes"},
    forget_on_silence=True,
)
