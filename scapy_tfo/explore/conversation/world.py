"""A target on virtual time, and what is known of it from one schedule to the next."""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Protocol

from scapy_tfo import option as opt
from scapy_tfo.address import known_address
from scapy_tfo.cookie import KeyRing
from scapy_tfo.explore.ends.actors import accepts_after
from scapy_tfo.explore.ends.context import USUAL, Context
from scapy_tfo.explore.ends.opening import relative_of
from scapy_tfo.icmp import IcmpError
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.oracle.conduct.conduct import Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.oracle.parts.profile import MANY, Profile
from scapy_tfo.reference.server import AcceptsLate, Listener
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Event
from scapy_tfo.segment import RST, SYN, Address, MalformedPacketError, Segment
from scapy_tfo.variants.registry import AnyStack

TARGETS = {
    4: known_address(ip_address("192.0.2.1").packed),
    6: known_address(ip_address("fd00:7413::1").packed),
}
ROOM = 12
"""Fast opens that may be pending at each listener."""
BACKLOG = 64
"""Handshakes that may be half open at each."""

_FIRST_LISTENER = 10001
_FRESH = 10.0
"""Seconds for which a cookie is taken for good without asking again."""
_FORGOTTEN = 400.0
"""Seconds after which a connection that has ended is forgotten: beyond TIME-WAIT."""
_APART = 1.5
"""Seconds between two requests for a cookie: some stacks grant one a second."""


class TargetStack(Protocol):
    """What a world asks of its target. Times are in seconds."""

    settings: Settings

    def receive(self, packet: bytes, now: float) -> None: ...

    def take_packets(self) -> list[bytes]: ...

    def take_events(self) -> list[Event]: ...

    def deadline(self) -> float | None: ...

    def on_timer(self, now: float) -> None: ...


class Setting:
    """What a conversation has around it: a clock with an agenda, a target, and what is known of it.

    profile: what the target is known to do. addresses: of the target, by family. target: takes the
    packets. now: seconds. population, tally: of the rules of conduct, over all connections. played:
    how many schedules there were. narrowed: the target was told of a small MTU. on_accepting: what
    is to be done once the target's application took connections that had waited for it.
    """

    target: TargetStack

    def __init__(self, profile: Profile, addresses: Mapping[int, Address]) -> None:
        self.profile = profile
        self.addresses = addresses
        self.now = 0.0
        self.population = Population()
        self.tally = Tally()
        self.played = 0
        self.narrowed = False
        self.on_accepting: Callable[[], None] = lambda: None
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = itertools.count()

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
        if when > self.now:
            self.now = when
        act()

    def forget_agenda(self) -> None:
        """What is left of a schedule happens no more."""
        self._agenda.clear()

    def pass_time(self, seconds: float) -> None:
        """Nothing happens for a while but the target's timers, where its clock is ours."""

    def make_room(self) -> None:
        """See to it that the target has room for one more connection."""

    def answers_at_once(self) -> bool:
        """Whether the target is known to answer a SYN at once, whatever it does to another one."""
        raise NotImplementedError

    # Ends and cookies

    def client_of(self, context: Context) -> Address:
        """The address that a client has in a context."""
        return context.client

    def choose_iss(self, iss: int | None) -> None:
        """The ISN of the connections that the target takes from now on, where it can be told: None
        for its own choice."""

    def allow_ecn(self, port: int, allows: bool) -> None:
        """Whether connections that a listener takes from now on may agree on ECN, where that can be
        told."""

    def history(self, key: Hashable) -> History:
        """What the rules of conduct shall know of a connection. key: its ends."""
        return History(key, self.population, ordered=True)

    def port_of(self, application: str, *, fast_open: bool = True) -> int:
        """The port at which an application listens. fast_open: whether it asked for that."""
        raise NotImplementedError

    def free_port(self) -> int:
        """A port of a client that no schedule has used in this world, nor the one beside it."""
        raise NotImplementedError

    def rotate_keys(self) -> None:
        """A new key comes, and the one before it stays good."""
        raise NotImplementedError

    def cookie(self, client: Address, port: int, *, anew: bool = False) -> bytes:
        """The cookie of a client; b"" where none is granted. anew: ask for one."""
        raise NotImplementedError

    def exchange(self, packet: Segment | IcmpError) -> list[Segment]:
        """Hand a packet to the target, and take the segments that it sends at once. Applications
        hear of nothing."""
        raise NotImplementedError


class World(Setting):
    """A stack on virtual time with its listeners, and a clock that goes on from schedule to
    schedule."""

    def __init__(self, stack: AnyStack, profile: Profile, seed: int = 0) -> None:
        super().__init__(profile, TARGETS)
        dice = random.Random(seed + (1 << 32))
        self.keys = KeyRing([dice.randbytes(16)])
        self.stack: Stack = stack.stack(
            list(TARGETS.values()), stack.settings, cookies=self.keys, seed=seed
        )
        self.target = self.stack
        self._dice = dice
        self._ports: dict[tuple[str, bool], int] = {}
        self._cookies: dict[tuple[Address, int], tuple[float, bytes]] = {}
        self._sports = itertools.cycle(range(40000, 60000, 2))
        self._strangers = itertools.count(1)
        self._is_told = False
        self._is_prompt: bool | None = None

    def answers_at_once(self) -> bool:
        """See Setting. It was asked before there was a connection."""
        return bool(self._is_prompt)

    def pass_time(self, seconds: float) -> None:
        """Nothing happens but the target's timers; what it sends is lost."""
        self._packets_in(seconds)

    def heard_in(self, seconds: float) -> list[Segment]:
        """What the target's timers make it send meanwhile."""
        return _segments(self._packets_in(seconds))

    def _packets_in(self, seconds: float) -> list[bytes]:
        end = self.now + seconds
        came: list[bytes] = []
        while (due := self.target.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.target.on_timer(self.now)
            came += self.target.take_packets()
            self.target.take_events()
        self.now = end
        return came

    # Ends

    def client_of(self, context: Context) -> Address:
        """See Setting. One address connects once from a port that is asked for."""
        address = context.client
        if context.bit is not None:
            address = relative_of(address, context.bit)
        if context.port:
            number = int.from_bytes(address.packed, "big") + (next(self._strangers) << 8)
            address = known_address(number.to_bytes(len(address.packed), "big"))
        return address

    def choose_iss(self, iss: int | None) -> None:
        """See Setting."""
        if self._is_told:
            self.stack.__delattr__("choose_isn")
        self._is_told = iss is not None
        if iss is not None:
            self.stack.__setattr__("choose_isn", lambda _local, _remote: iss)

    def allow_ecn(self, port: int, allows: bool) -> None:
        """See Setting. A stack that always agrees goes on to."""
        # A stack that is wrong may have closed it.
        listener = self.stack.listeners.get(port)
        allows = allows or self.stack.settings.ecn
        if listener is not None and listener.settings.ecn is not allows:
            listener.settings = replace(listener.settings, ecn=allows)

    # Listeners and cookies

    def make_room(self) -> None:
        """Wait until earlier connections are forgotten, where the target holds few at a time."""
        if self.profile.connections < MANY:
            self.pass_time(_FORGOTTEN)

    def port_of(self, application: str, *, fast_open: bool = True) -> int:
        """See Setting. It listens from now on at the latest."""
        port = self._ports.get((application, fast_open))
        if port is None:
            port = self._ports[application, fast_open] = _FIRST_LISTENER + len(self._ports)
            room = ROOM if fast_open else 0
            listener = self.stack.listen(port, fast_open=room, backlog=BACKLOG)
            wait = accepts_after(application)
            if wait:
                accept = functools.partial(self._accept, listener)
                listener.queue = AcceptsLate(wait, self.later, accept)
            if self._is_prompt is None:
                self._is_prompt = self._ask_plainly(port)
        return port

    def _accept(self, listener: Listener) -> None:
        # What a schedule left behind waits longest.
        while listener.queue.waiting:
            listener.accept_one(self.now)
        self.on_accepting()

    def _ask_plainly(self, port: int) -> bool:
        """Whether an ordinary SYN is answered at once."""
        sport = self.free_port()
        client, target = USUAL.client, self.addresses[USUAL.client.version]
        syn = Segment(
            src=client,
            dst=target,
            sport=sport,
            dport=port,
            seq=77,
            flags=SYN,
            options=opt.push_options([opt.mss(1460)]),
        )
        is_answered = any(each.is_syn_ack for each in self.exchange(syn))
        self.exchange(replace(syn, seq=78, flags=RST, options=b""))
        return is_answered

    def free_port(self) -> int:
        """A port of a client, neither it nor the one beside it of the last 10,000 connections."""
        return next(self._sports)

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
        target = self.addresses[client.version]
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

    def exchange(self, packet: Segment | IcmpError) -> list[Segment]:
        """Hand a packet to the target, and take the segments that it sends at once. Applications
        hear of nothing."""
        self.target.receive(packet.to_bytes(), self.now)
        self.target.take_events()
        return self.taken()

    def taken(self) -> list[Segment]:
        """The segments that the target has sent by now, and that nobody has taken yet."""
        return _segments(self.target.take_packets())


def _segments(packets: Iterable[bytes]) -> list[Segment]:
    """Those that can be read."""
    came = []
    for packet in packets:
        try:
            came.append(Segment.read_back(packet))
        except MalformedPacketError:
            continue
    return came
