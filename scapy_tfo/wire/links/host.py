"""A link through the host's own addresses and routes."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Sequence

from scapy_tfo.segment import Address
from scapy_tfo.wire import bpf, ip_header
from scapy_tfo.wire.link import Receiver
from scapy_tfo.wire.packet_socket import ETH_P_IP, ETH_P_IPV6, LOST, PacketSocket
from scapy_tfo.wire.port_guard import GuardedPorts
from scapy_tfo.wire.rate_limit import Pacer
from scapy_tfo.wire.routes import route_to, scoped

_SENDING_BUFFER = 4 << 20


class HostLink:
    """Sends through raw IP sockets, sees the answers through packet sockets.

    targets: the only addresses that it sends to. sources: addresses of this host. iface: the
    interface to use whatever the routes say, or None. is_local: whether the targets are on this
    machine; by default, where the kernel itself says so.

    It hands in packets for reserved ports only: to a target on the loopback interface, source
    and destination are the same address, and only the port tells an answer from what was sent.
    The kernel fills in identification, total length and header checksum of IPv4.

    Raises PermissionError without CAP_NET_RAW, OSError where there is no route.
    """

    def __init__(
        self,
        targets: Sequence[Address],
        sources: Sequence[Address],
        iface: str | None = None,
        *,
        is_local: bool | None = None,
    ) -> None:
        routes = [route_to(target, iface) for target in targets]
        self.sources = tuple(sources)
        self.mtu = min(route.mtu for route in routes)
        self.is_local = all(route.is_local for route in routes) if is_local is None else is_local
        self._ports = GuardedPorts(socket.if_nametoindex(iface) if iface else 0)
        self._pacer = None if self.is_local else Pacer(self._send)
        self._receive: Receiver | None = None
        self._sockets: list[PacketSocket] = []
        self._senders: dict[bytes, tuple[socket.socket, tuple[str, int]]] = {}
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for version, ethertype in ((4, ETH_P_IP), (6, ETH_P_IPV6)):
                these = [target for target in targets if target.version == version]
                if not these:
                    continue
                sender = raw_socket(version, iface)
                undo.callback(sender.close)
                for each in these:
                    self._senders[each.packed] = sender, (scoped(each, iface), 0)
                # A socket for one protocol sees what comes in and not what goes out, so a packet
                # on the loopback interface comes once.
                program = bpf.from_targets(these)
                self._sockets.append(PacketSocket(socket.SOCK_DGRAM, ethertype, program, iface))
            undo.pop_all()

    def start(self, receive: Receiver) -> None:
        self._receive = receive
        for each in self._sockets:
            each.start(self._arrived)

    async def prepare(self) -> None:
        """The kernel looks after its neighbours itself."""

    def send(self, packet: bytes) -> None:
        """See Link. Raises ValueError where the packet is not for a target or over the MTU."""
        if ip_header.destination(packet) not in self._senders:
            raise ValueError("a packet for an address that is not the target's")
        if len(packet) > self.mtu:
            raise ValueError(f"a packet of {len(packet)} bytes, over the MTU of {self.mtu}")
        if self._pacer is None:
            self._send(packet)
        else:
            self._pacer.send(packet)

    @property
    def lag(self) -> float:
        return 0.0 if self._pacer is None else self._pacer.lag

    def now(self) -> float:
        return time.time()

    def reserve_port(self, source: Address, port: int = 0) -> int:
        return self._ports.reserve(source, port)

    def release_port(self, source: Address, port: int) -> None:
        self._ports.release(source, port)

    def close(self) -> None:
        if self._pacer is not None:
            self._pacer.close()
        for each in self._sockets:
            each.close()
        for sender, _ in self._senders.values():
            sender.close()
        self._ports.close()

    def _send(self, packet: bytes) -> None:
        sender, where = self._senders[ip_header.destination(packet)]
        try:
            sender.sendto(packet, where)
        except OSError as error:
            if error.errno not in LOST:
                raise

    def _arrived(self, packet: bytes, when: float, unfinished: bool) -> None:
        if ip_header.our_end(packet) not in self._ports or self._receive is None:
            return
        self._receive(ip_header.with_checksum(packet) if unfinished else packet, when)


def raw_socket(version: int, iface: str | None) -> socket.socket:
    """A socket that sends IP packets as they are and receives nothing (raw(7), ipv6(7))."""
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENDING_BUFFER)
    if iface is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, iface.encode())
    return sock
