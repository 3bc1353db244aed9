"""Finds the connection that a packet belongs to, in a script and on the wire.

Without ports, a script means the newest connection; it names any other by its ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scapy_tfo.address import Address, known_address
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.segment import SYN, Segment, endpoint

Ports = Callable[[], int]
"""Gives a port of the script's side that nothing else uses."""

Pair = tuple[int, int]
"""Ports: of the script's side, and of the kernel under test."""

OnWire = Callable[[Pair, int], Pair]
"""What the ports that a script names are on the wire; the number is that of the script's address,
counted from 1."""

Addresses = Callable[[int], Address]
"""The script's addresses by their numbers, counted from 1."""


class NoFlowError(ValueError):
    """There is no connection that the packet could belong to."""


class Flows:
    """local: of the kernel under test. remote: the first of the script's side. bind_port: where the
    kernel listens. on_wire: None: the ports are those that the script names. addresses: None: those
    that follow the first."""

    def __init__(
        self,
        local: Address,
        remote: Address,
        bind_port: int,
        new_port: Ports,
        on_wire: OnWire | None = None,
        addresses: Addresses | None = None,
    ) -> None:
        self._local = local
        self._remote = remote
        self._bind_port = bind_port
        self._new_port = new_port
        self._on_wire = on_wire or (lambda ports, _client: ports)
        self._address_of = addresses or (lambda client: client_address(remote, client))
        self._current: Flow | None = None
        self._connecting: Flow | None = None
        self._listens = False
        self._by_ends: dict[tuple[Pair, int], Flow] = {}
        self._watched: dict[tuple[Address, Pair], tuple[Pair, int]] = {}
        self._asked: set[tuple[Pair, int]] = set()

    def watch(self, packets: Iterable[tree.Packet | tree.Icmp]) -> None:
        """Pass by what the kernel sends elsewhere than where one of these names the ports."""
        for packet in packets:
            if not isinstance(packet, tree.Packet) or not packet.ports:
                continue
            is_asked = packet.direction is tree.Direction.OUTBOUND
            named = (packet.ports[1], packet.ports[0]) if is_asked else packet.ports
            address = self._address_of(packet.client)
            self._watched[address, self._on_wire(named, packet.client)] = named, packet.client
            if is_asked:
                self._asked.add((named, packet.client))

    @property
    def last(self) -> str:
        """`src:port>dst:port` of the connection that was spoken of last; "" of none."""
        unnamed = [each for each in (self._current, self._connecting) if each is not None]
        for flow in [*self._by_ends.values(), *unnamed][-1:]:
            there, here = flow.remote_port, flow.local_port or 0
            return f"{endpoint(flow.remote, there)}>{endpoint(flow.local, here)}"
        return ""

    @property
    def awaits_syn(self) -> bool:
        """The first SYN of the connection that the kernel opened last has not come."""
        return self._connecting is not None and self._connecting.local_port is None

    def socket_made(self) -> None:
        """The next packets are of the connection that this socket will have."""
        self._current = self._connecting = None
        self._listens = False

    def listening(self) -> None:
        """The next packet to the kernel is of a new connection."""
        self._listens = True

    def connecting(self, remote: Address, port: int) -> None:
        """The kernel's next SYN there is of a new connection."""
        self._connecting = Flow(self._local, remote, None, port)
        self._listens = False

    def of_inbound(self, packet: tree.Packet, isn: int) -> Flow:
        """isn: the packet's sequence number, taken for the remote side's ISN if it has SYN."""
        flow = self._named(packet.ports, packet.client) if packet.ports else self._unnamed_inbound()
        syn = "S" in packet.flags
        if syn and "." not in packet.flags:
            if flow.is_reset:
                flow.begin_anew()
            flow.next_isn = isn
        flow.is_reset = flow.is_reset or "R" in packet.flags
        flow.has_remote_fin = flow.has_remote_fin or "F" in packet.flags
        answers = syn and "." in packet.flags and flow.script_isn is not None
        if syn and (flow.remote_isn is None or answers):
            flow.remote_isn = isn
        return flow

    def of_icmp(self, packet: tree.Icmp) -> Flow:
        """Whose segment an ICMP error quotes. Raises NoFlowError."""
        if packet.ports:
            return self._named(packet.ports, packet.client)
        flow = self._connecting or self._current
        if flow is None:
            raise NoFlowError("there is no connection that this ICMP error could belong to")
        return flow

    def of_outbound(self, packet: tree.Packet) -> tuple[Flow, ...]:
        """Those whose next packet is meant. Raises NoFlowError."""
        if packet.ports:
            remote_port, local_port = packet.ports[1], packet.ports[0]
            return (self._named((remote_port, local_port), packet.client),)
        found = tuple(each for each in (self._current, self._connecting) if each is not None)
        if not found:
            raise NoFlowError("there is no connection that this packet could belong to")
        return found

    def owner(self, segment: Segment) -> Flow | None:
        """Whose a segment of the kernel is; None: nobody's that the script looks at."""
        named = self._watched.get((segment.dst, (segment.dport, segment.sport)))
        if named is not None:
            return self._named(*named)
        current, connecting = self._current, self._connecting
        if current is not None and _is_of(current, segment):
            return current
        if connecting is None:
            return None
        if connecting.local_port is None:
            meant = segment.is_syn and segment.dport == connecting.remote_port
            if not meant or segment.dst != connecting.remote:
                return None
            connecting.local_port = segment.sport
            connecting.live_isn = segment.seq
        return connecting if _is_of(connecting, segment) else None

    def spoken_of(self, flow: Flow, packet: tree.Packet, segment: Segment, start: int) -> None:
        """The script's packet is beside the kernel's: a SYN teaches what it calls the ISN.

        start: the script's sequence number.
        """
        if flow is self._connecting:
            self._current, self._connecting = flow, None
        if "S" in packet.flags and segment.flags & SYN and flow.script_isn is None:
            flow.script_isn = start
            flow.live_isn = segment.seq

    def _unnamed_inbound(self) -> Flow:
        if self._listens or (self._current is None and self._connecting is None):
            self._listens = False
            self._connecting = None
            self._current = Flow(self._local, self._remote, self._bind_port, self._new_port())
        flow = self._current or self._connecting
        assert flow is not None
        return flow

    def _named(self, ports: Pair, client: int) -> Flow:
        flow = self._by_ends.get((ports, client))
        if flow is None:
            remote_port, local_port = self._on_wire(ports, client)
            address = self._address_of(client)
            flow = Flow(self._local, address, local_port, remote_port, ports, client)
            # What is no SYN speaks with the numbers of the connection that it strays from.
            if self._current is not None:
                flow.live_isn = self._current.live_isn
            flow.is_unasked = (ports, client) not in self._asked
            self._by_ends[ports, client] = flow
        return flow


def client_address(remote: Address, client: int) -> Address:
    """Of the script's side; client: counted from 1, whose addresses follow each other."""
    return known_address((remote + (client - 1)).packed) if client > 1 else remote


def clients(script: tree.Script) -> int:
    """How many addresses the script's side has."""
    return max((packet.client for packet in packets_of(script)), default=1)


def packets_of(script: tree.Script) -> Iterator[tree.Packet | tree.Icmp]:
    """All that a script names, whether they must come or may."""
    for event in script.events:
        action = event.action
        for packet in action.packets if isinstance(action, tree.AnyOf) else (action,):
            if isinstance(packet, tree.Packet | tree.Icmp):
                yield packet


def _is_of(flow: Flow, segment: Segment) -> bool:
    return (
        segment.dport == flow.remote_port
        and segment.sport == flow.local_port
        and segment.dst == flow.remote
    )
