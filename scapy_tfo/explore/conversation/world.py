"""A target on virtual time, and what is known of it from one schedule to the next."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo.address import known_address
from scapy_tfo.cookie import KeyRing
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.oracle.conduct.conduct import Tally
from scapy_tfo.oracle.conduct.isns import Population
from scapy_tfo.oracle.parts.profile import MANY, Profile
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import RST, SYN, Address, MalformedPacketError, Segment
from scapy_tfo.variants.registry import AnyStack

TARGETS = {
    4: known_address(ip_address("192.0.2.1").packed),
    6: known_address(ip_address("fd00:7413::1").packed),
}
ROOM = 12
"""Fast opens that may be pending at each listener."""

_FIRST_LISTENER = 10001
_FRESH = 10.0
"""Seconds for which a cookie is taken for good without asking again."""
_FORGOTTEN = 400.0
"""Seconds after which a connection that has ended is forgotten: beyond TIME-WAIT."""
_APART = 1.5
"""Seconds between two requests for a cookie: some stacks grant one a second."""


class World:
    """A stack with its listeners, and a clock that goes on from schedule to schedule.

    profile: what the stack is known to do. now: seconds. population, tally: of the rules of
    conduct, over all connections. played: how many schedules there were. narrowed: the target was
    told of a small MTU.
    """

    def __init__(self, stack: AnyStack, profile: Profile, seed: int = 0) -> None:
        self.profile = profile
        dice = random.Random(seed + (1 << 32))
        self.keys = KeyRing([dice.randbytes(16)])
        self.target: Stack = stack.stack(
            list(TARGETS.values()), stack.settings, cookies=self.keys, seed=seed
        )
        self.now = 0.0
        self.population = Population()
        self.tally = Tally()
        self.played = 0
        self.narrowed = False
        self._dice = dice
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = itertools.count()
        self._ports: dict[str, int] = {}
        self._cookies: dict[tuple[Address, int], tuple[float, bytes]] = {}
        self._sports = itertools.count(40000, 2)

    # Time

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """See `actors.Clock`."""
        heapq.heappush(self._agenda, (self.now + seconds, next(self._serial), act))

    def next_act(self) -> float | None:
        """When something of the agenda is due."""
        return self._agenda[0][0] if self._agenda else None

    def do_next(self) -> None:
        """What is due first."""
        when, _, act = heapq.heappop(self._agenda)
        self.now = max(self.now, when)
        act()

    def forget_agenda(self) -> None:
        """What is left of a schedule happens no more."""
        self._agenda.clear()

    def pass_time(self, seconds: float) -> None:
        """Nothing happens but the target's timers; what it sends is lost."""
        end = self.now + seconds
        while (due := self.target.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.target.on_timer(self.now)
            self.target.take_packets()
            self.target.take_events()
        self.now = end

    # Listeners and cookies

    def make_room(self) -> None:
        """Wait until earlier connections are forgotten, where the target holds few at a time."""
        if self.profile.connections < MANY:
            self.pass_time(_FORGOTTEN)

    def port_of(self, application: str) -> int:
        """The port at which an application listens, from now on at the latest."""
        port = self._ports.get(application)
        if port is None:
            port = self._ports[application] = _FIRST_LISTENER + len(self._ports)
            self.target.listen(port, fast_open=ROOM, backlog=64)
        return port

    def free_port(self) -> int:
        """A port of a client that no schedule has used in this world, nor the one beside it."""
        return 10000 + next(self._sports) % 50000

    def rotate_keys(self) -> None:
        """A new key comes, and the one before it stays good."""
        self.keys.rotate(self._dice.randbytes(16))
        self._cookies.clear()

    def cookie(self, client: Address, port: int, *, anew: bool = False) -> bytes:
        """The cookie of a client; b"" where none is granted. anew: ask for one."""
        known = self._cookies.get((client, port))
        once = self.profile.cookies_once
        if known is not None and not (anew or once) and self.now - known[0] < _FRESH:
            return known[1]
        self.pass_time(_APART)
        cookie = self._ask(client, port)
        self._cookies[client, port] = self.now, cookie
        return cookie

    def _ask(self, client: Address, port: int) -> bytes:
        target = TARGETS[client.version]
        sport = self.free_port()
        options = opt.padded(opt.push_options([opt.mss(1460), opt.fast_open(form=Form.IANA)]))
        syn = Segment(
            src=client, dst=target, sport=sport, dport=port, seq=77, flags=SYN, options=options
        )
        found = b""
        for reply in self.exchange(syn):
            if reply.dport == sport and reply.is_syn_ack:
                for each in reply.fast_open:
                    if isinstance(each, FastOpen) and each.cookie:
                        found = each.cookie
        reset = Segment(src=client, dst=target, sport=sport, dport=port, seq=78, flags=RST)
        self.exchange(reset)
        return found

    def exchange(self, segment: Segment) -> list[Segment]:
        """Hand a segment to the target, and take what it sends at once. Applications hear of
        nothing."""
        self.target.receive(segment.to_bytes(), self.now)
        self.target.take_events()
        came = []
        for packet in self.target.take_packets():
            try:
                came.append(Segment.read_back(packet))
            except MalformedPacketError:
                continue
        return came
