"""A host: addresses, listeners, connections. Packets and time in, packets and events out."""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections import Counter
from collections.abc import Sequence

from scapy_tfo import seq
from scapy_tfo.cookie import Cookies, KeyRing
from scapy_tfo.icmp import IcmpError
from scapy_tfo.reference import icmp, options
from scapy_tfo.reference.cache import Cache, Lru
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.core import Core, Ends
from scapy_tfo.reference.parts.ip_fields import IpFields
from scapy_tfo.reference.parts.pending import ClientPending, Pending
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import Closed, Event, State
from scapy_tfo.segment import ACK, RST, Address, MalformedPacketError, Segment

COUNTERS = (
    "TCPFastOpenActive",
    "TCPFastOpenActiveFail",
    "TCPFastOpenPassive",
    "TCPFastOpenPassiveFail",
    "TCPFastOpenListenOverflow",
    "TCPFastOpenCookieReqd",
    "TCPFastOpenPassiveAltKey",
    "ListenDrops",
)
"""Names as in Linux's TcpExt."""

EPHEMERAL = range(32768, 61000)
"""Ports of connections that we open."""

_PATHS = 10_000
_ISN_STEP = 64_000
_MTU_OF_OLD_ROUTERS = 576
_DEFAULTS = Settings()
_BROADCAST = b"\xff\xff\xff\xff"
"""The IPv4 address of all hosts of a link, which no packet comes from (RFC 1122 3.2.1.3)."""


class Stack:
    """A host that speaks TCP with Fast Open, without input, output or clock of its own.

    addresses: the host's own. cookies: what listeners without cookies of their own use; a key
    ring with a random key where None. seed: of every random choice, so that runs repeat.
    Times are seconds on any one clock that never goes back.
    """

    connection_class: type[PassiveConnection] = PassiveConnection
    active_class: type[ActiveConnection] = ActiveConnection
    listener_class: type[Listener] = Listener
    pending_class: type[Pending] = Pending
    client_pending_class: type[ClientPending] = ClientPending
    cache_class: type[Cache] = Cache

    def __init__(
        self,
        addresses: Sequence[Address],
        settings: Settings = _DEFAULTS,
        *,
        cookies: Cookies | None = None,
        seed: int = 0,
    ) -> None:
        self.addresses = tuple(addresses)
        self.settings = settings
        self.random = random.Random(seed)
        self.cookies: Cookies = cookies or KeyRing([self.random.randbytes(16)])
        self.counters: Counter[str] = Counter(dict.fromkeys(COUNTERS, 0))
        self.cache = self.cache_class(settings)
        self.host_pending = self.pending_class(
            settings.host_pending_limit, reset_timeout=settings.reset_timeout
        )
        self.client_pending = self.client_pending_class(
            settings.client_pending_limit,
            size=settings.client_pending_size,
            reset_timeout=settings.reset_timeout,
        )
        self.listeners: dict[int, Listener] = {}
        self.connections: dict[Ends, Connection] = {}
        self._path_mtu: Lru[Address, int] = Lru(_PATHS)
        self._outbox: list[bytes] = []
        self._events: list[Event] = []
        self._timers: list[tuple[float, int, Core]] = []
        self._serial = itertools.count()
        self._reopened: dict[Ends, int] = {}
        self._isns = itertools.count()
        self._ip_fields = IpFields(settings, self.random) if settings.marks_packets else None

    # What the application calls.

    def listen(
        self,
        port: int,
        *,
        fast_open: int = 0,
        cookies: Cookies | None = None,
        backlog: int = 128,
        accept_queue: int | None = None,
        settings: Settings | None = None,
        share: bool = False,
    ) -> Listener:
        """Listen on a port of every address.

        fast_open: limit of pending fast opens; 0 leaves fast open off, as RFC 7413 section 2
        demands unless the application asks. cookies: the listener's own, else the host's.
        backlog: half-open connections at most. accept_queue: connections at most that the
        application has not accepted (see `Listener.pause`); None for any number. settings: the
        listener's own, else the host's. share: others may listen on the port, too, and each
        client's port meets one of them (SO_REUSEPORT); all must say so. Raises ValueError where
        the port is taken.
        """
        first = self.listeners.get(port)
        if first is not None and not (share and first.group):
            raise ValueError(f"port {port} is listened on already")
        own = {} if settings is None else {"settings": settings}
        listener = self.listener_class(
            self, port, fast_open=fast_open, cookies=cookies, backlog=backlog, **own
        )
        listener.queue.limit = accept_queue
        if share:
            listener.group = first.group if first is not None else []
            listener.group.append(listener)
        if first is None:
            self.listeners[port] = listener
        return listener

    def connect(
        self,
        source: Address,
        destination: Address,
        port: int,
        *,
        data: bytes = b"",
        fast_open: bool = True,
        now: float,
    ) -> ActiveConnection:
        """Open a connection and write `data` to it.

        fast_open: the data may go in the SYN, where a cookie is at hand, and be replayed to the
        server (RFC 7413 section 2.1); without a cookie one is asked for. Raises ValueError where
        `source` is not the host's or no port is left.
        """
        if source not in self.addresses:
            raise ValueError(f"{source} is not an address of this host")
        local = (source, self._free_port(source, destination, port))
        connection = self.active_class(self, local, (destination, port), fast_open=fast_open)
        self.add(connection)
        connection.open(data, now)
        return connection

    def receive(self, packet: bytes, now: float) -> None:
        """Take one IP packet; what is not a sound TCP segment or ICMP error for us is ignored."""
        try:
            segment = Segment.read_back(packet)
        except MalformedPacketError:
            error = IcmpError.from_bytes(packet)
            if error is not None:
                icmp.arrive(self, error, now)
            return
        if self.is_sound(segment):
            self.segment_arrives(segment, now)

    def deadline(self) -> float | None:
        """When `on_timer` should be called next, in seconds; None where nothing waits."""
        while self._timers:
            when, _, connection = self._timers[0]
            if connection.armed == when:
                return when
            heapq.heappop(self._timers)
        return None

    def on_timer(self, now: float) -> None:
        """Do what is due."""
        while (when := self.deadline()) is not None and when <= now:
            connection = heapq.heappop(self._timers)[2]
            connection.armed = None
            connection.on_timer(now)

    def take_packets(self) -> list[bytes]:
        """The IP packets to send, in order; the outbox is empty then."""
        out, self._outbox = self._outbox, []
        return out

    def take_events(self) -> list[Event]:
        """What happened for the application, in order; none is told twice."""
        out, self._events = self._events, []
        return out

    # What connections and listeners call.

    @functools.cached_property
    def syn_cookie_key(self) -> bytes:
        """Of the SYN cookies of all listeners."""
        return self.random.randbytes(16)

    def send(self, segment: Segment) -> None:
        """Put a segment into the outbox."""
        if self._ip_fields is not None:
            segment = self._ip_fields.dress(segment)
        self._outbox.append(segment.to_bytes())

    def tell(self, event: Event) -> None:
        """Queue an event for the application."""
        self._events.append(event)

    def add(self, connection: Connection) -> None:
        """Know a connection by its four ends."""
        self.connections[(*connection.local, *connection.remote)] = connection

    def forget(self, connection: Core) -> None:
        """A connection entered CLOSED."""
        ends = (*connection.local, *connection.remote)
        if self.connections.get(ends) is connection:
            del self.connections[ends]

    def close_listener(self, listener: Listener) -> None:
        """Segments for its port meet no listener from now on."""
        if listener in listener.group:
            listener.group.remove(listener)
        if self.listeners.get(listener.port) is listener:
            del self.listeners[listener.port]
            if listener.group:
                self.listeners[listener.port] = listener.group[0]

    def arm(self, connection: Core) -> None:
        """See to it that `deadline` knows the connection's."""
        when = connection.deadline()
        if when != connection.armed:
            connection.armed = when
            if when is not None:
                heapq.heappush(self._timers, (when, next(self._serial), connection))

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int:
        """An initial sequence number; ahead of those in TIME-WAIT (RFC 9293 3.4.1, MAY-2)."""
        last = self._reopened.pop((*local, *remote), None)
        if last is None:
            if self.settings.first_isn is not None:
                return seq.add(self.settings.first_isn, _ISN_STEP * next(self._isns))
            return self.random.getrandbits(32)
        return seq.add(last, 1 + self.random.getrandbits(24))

    def mss_towards(self, destination: Address) -> int:
        """The largest segment in bytes, without options, that the path is known to carry."""
        return options.mss_for(destination, self.mtu_towards(destination))

    def mtu_towards(self, destination: Address) -> int:
        """The largest packet in bytes that the path is known to carry."""
        return min(self.settings.mtu, self._path_mtu.get(destination) or self.settings.mtu)

    def note_mtu(self, destination: Address, mtu: int) -> None:
        """A router told the path's MTU in bytes (RFC 1191, RFC 8201)."""
        self._path_mtu.put(destination, mtu)

    def untold_mtu(self, size: int) -> int:
        """The MTU of a path where a router of IPv4 told none (RFC 1191 section 5).

        size: of the packet that was too big. All in bytes.
        """
        return _MTU_OF_OLD_ROUTERS

    # Segments.

    def is_sound(self, segment: Segment) -> bool:
        """From one host to one of our addresses, with a right checksum and data offset."""
        return (
            segment.dst in self.addresses
            and segment.checksum is None
            and segment.data_offset is None
            and not (segment.src.is_multicast or segment.src.is_unspecified)
            and segment.src.packed != _BROADCAST
        )

    def segment_arrives(self, segment: Segment, now: float) -> None:
        """Hand a segment to its connection, its listener, or refuse it (RFC 9293 3.10.7)."""
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        connection = self.connections.get(ends)
        listener = self.listeners.get(segment.dport)
        if connection is not None:
            if connection.signature is not None and not connection.is_authentic(segment):
                return
            if listener is not None and self.reopens(connection, segment):
                self._reopen(connection, listener, segment, now)
            else:
                connection.arrive(segment, now)
        elif listener is not None:
            self._met(listener, segment).arrive(segment, now)
        elif not segment.is_rst:
            self.refuse(segment)

    def _met(self, listener: Listener, segment: Segment) -> Listener:
        return listener.member_for(segment) if listener.group else listener

    def _reopen(
        self, connection: Connection, listener: Listener, segment: Segment, now: float
    ) -> None:
        """Hand a SYN to the listener; TIME-WAIT goes on where that takes no notice of it."""
        ends = (*connection.local, *connection.remote)
        self._reopened = {ends: connection.send.nxt}
        answered = len(self._outbox)
        self._met(listener, segment).arrive(segment, now)
        if self.connections[ends] is not connection or len(self._outbox) > answered:
            connection.finish(Closed(connection))

    def reopens(self, connection: Connection, segment: Segment) -> bool:
        """Whether a SYN begins a new connection in TIME-WAIT (RFC 9293 3.6.1, RFC 6191)."""
        if connection.state is not State.TIME_WAIT or not segment.is_syn or segment.is_rst:
            return False
        times = segment.timestamps
        if connection.timestamps and times is not None:
            return seq.before(connection.recv.ts_recent, times[0])
        return seq.before(connection.recv.nxt, segment.seq)

    def refuse(self, segment: Segment) -> None:
        """RST for a segment that belongs to nothing (RFC 9293 section 3.10.7.1)."""
        with_ack = bool(segment.flags & ACK)
        self.send(
            Segment(
                src=segment.dst,
                dst=segment.src,
                sport=segment.dport,
                dport=segment.sport,
                seq=segment.ack if with_ack else 0,
                ack=0 if with_ack else segment.end,
                flags=RST if with_ack else RST | ACK,
                window=0,
            )
        )

    def first_port(self) -> int:
        """The port that a new connection takes, unless it is taken."""
        return self.random.choice(EPHEMERAL)

    def _free_port(self, source: Address, destination: Address, port: int) -> int:
        first = EPHEMERAL.index(self.first_port())
        for step in range(len(EPHEMERAL)):
            candidate = EPHEMERAL[(first + step) % len(EPHEMERAL)]
            if (source, candidate, destination, port) not in self.connections:
                return candidate
        raise ValueError(f"no port left towards {destination} port {port}")
