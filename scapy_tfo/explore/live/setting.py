"""What one conversation on the wire has around it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import Setting
from scapy_tfo.explore.ends.context import Context
from scapy_tfo.explore.ends.opening import OLD_KEY
from scapy_tfo.explore.live.site import Site
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import Event
from scapy_tfo.segment import Address, Segment

CookieOf = Callable[[Address, int, bool], bytes]
"""The cookie of a client at a port; the last one tells whether to ask anew."""


@dataclass(slots=True)
class Shared:
    """What all conversations with a target have in common. population, tally: see `Setting`.
    cookie_of: asks for cookies. prompt: the target answered a SYN at once, some time."""

    site: Site
    cookie_of: CookieOf
    population: Population = field(default_factory=Population)
    tally: Tally = field(default_factory=Tally)
    played: int = 0
    prompt: bool = False


class Wire:
    """Takes the packets for a target, which answers by another way. out: those not sent yet."""

    def __init__(self, mtu: int) -> None:
        self.settings = Settings(mtu=mtu)
        self.out: list[bytes] = []

    def receive(self, packet: bytes, now: float) -> None:
        """Send a packet. now: seconds."""
        self.out.append(packet)

    def take_packets(self) -> list[bytes]:
        """Nothing comes by this way."""
        return []

    def take_events(self) -> list[Event]:
        """Applications are asked when all is over."""
        return []

    def deadline(self) -> float | None:
        """Its timers are its own."""
        return None

    def on_timer(self, now: float) -> None:
        """Its timers are its own."""


class LiveSetting(Setting):
    """One conversation's. source, sport: the client's address and port. grace: seconds that the
    target may be late. wire: where packets leave."""

    def __init__(
        self, shared: Shared, schedule: Schedule, source: Address, sport: int, grace: float
    ) -> None:
        site = shared.site
        super().__init__(site.profile, site.addresses)
        self.population, self.tally = shared.population, shared.tally
        shared.played += 1
        self.played = shared.played
        self.wire = Wire(max(site.batch.mtu, 1 << 16))
        self.target = self.wire
        self.source, self.sport = source, sport
        self.narrowed = any(source in each for each in site.spare.values())
        self._shared = shared
        self._schedule = schedule
        self._grace = grace

    def client_of(self, context: Context) -> Address:
        """See Setting."""
        return self.source

    def answers_at_once(self) -> bool:
        """See Setting."""
        return self._shared.prompt

    def answered_at_once(self) -> None:
        """The target answered a SYN at once."""
        self._shared.prompt = True

    def history(self, key: Hashable) -> History:
        """See Setting."""
        site = self._shared.site
        return History(
            key,
            self.population,
            ordered=site.direct,
            whole=site.profile.whole,
            grace=self._grace,
        )

    def port_of(self, application: str, *, fast_open: bool = True) -> int:
        """See Setting. There are listeners with fast open only."""
        site = self._shared.site
        is_old = self._schedule.opening == OLD_KEY
        return site.old[application] if is_old else site.ports[application]

    def free_port(self) -> int:
        """See Setting."""
        return self.sport

    def rotate_keys(self) -> None:
        """The listener has had another key before since it was opened."""

    def cookie(self, client: Address, port: int, *, anew: bool = False) -> bytes:
        """See Setting. Other clients than our own have none."""
        site = self._shared.site
        if not site.reaches(client):
            return b""
        if self._schedule.opening == OLD_KEY:
            port = site.old_cookies
        return self._shared.cookie_of(client, port, anew)

    def exchange(self, packet: Segment | IcmpError) -> list[Segment]:
        """Send a packet; nobody waits for an answer."""
        self.wire.receive(packet.to_bytes(), self.now)
        return []
