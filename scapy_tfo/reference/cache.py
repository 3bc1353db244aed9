"""A client's memory of servers (RFC 7413 section 4.1.3, paper 4.1 and 5.1)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from scapy_tfo.option import Form
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import Address

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """A mapping of at most `size` entries; the least recently used is forgotten."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The entry, now the most recently used."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.size:
            self._entries.popitem(last=False)

    def drop(self, key: K) -> None:
        self._entries.pop(key, None)


@dataclass(slots=True)
class Entry:
    """One server, for one address of ours. mss in bytes, rtt in seconds; None if unknown."""

    cookie: bytes = b""
    form: Form = Form.IANA
    mss: int | None = None
    rtt: float | None = None


Pair = tuple[Address, Address]
Path = tuple[Address, Address, int]


class Cache:
    """Cookies, MSS and RTT by client and server address; negative answers by port as well.

    Cookies do not depend on ports, but whether fast open works does (section 4.1.3.1).
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._entries: Lru[Pair, Entry] = Lru(settings.cache_size)
        self._off_until: Lru[Path, float] = Lru(settings.cache_size)
        self._ask_after: Lru[Path, float] = Lru(settings.cache_size)

    def __len__(self) -> int:
        return len(self._entries)

    def look_up(self, client: Address, server: Address) -> Entry:
        """What is known of a server; an empty entry where nothing is."""
        return self._entries.get((client, server)) or Entry()

    def learn(
        self,
        client: Address,
        server: Address,
        *,
        cookie: bytes = b"",
        form: Form = Form.IANA,
        mss: int | None = None,
        rtt: float | None = None,
    ) -> None:
        """Replace what is given; what is empty or None stays as it was (section 4.2.2)."""
        entry = self.look_up(client, server)
        if cookie:
            entry.cookie, entry.form = cookie, form
        entry.mss = entry.mss if mss is None else mss
        entry.rtt = entry.rtt if rtt is None else rtt
        self._entries.put((client, server), entry)

    def forget(self, client: Address, server: Address) -> None:
        """Drop all that is known of a server."""
        self._entries.drop((client, server))

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        """Remember a negative answer: no fast open on that path for a while (4.1.3.1)."""
        self._off_until.put((client, server, port), now + self.settings.negative_lifetime)

    def is_refused(self, client: Address, server: Address, port: int, now: float) -> bool:
        """Whether fast open is off on that path."""
        return (self._off_until.get((client, server, port)) or 0.0) > now

    def unanswered(self, client: Address, server: Address, port: int, now: float) -> None:
        """A request was answered without a cookie: ask again only after a while (4.2.1)."""
        self._ask_after.put((client, server, port), now + self.settings.request_again_after)

    def may_request(self, client: Address, server: Address, port: int, now: float) -> bool:
        """Whether a cookie may be asked for."""
        return (self._ask_after.get((client, server, port)) or 0.0) <= now
