"""A link for servers: takes what comes for some ports of this host, and sends the answers."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from scapy_tfo.segment import Address
from scapy_tfo.wire import bpf, ip_header
from scapy_tfo.wire.links.host import raw_socket
from scapy_tfo.wire.packet_socket import ETH_P_IP, ETH_P_IPV6, LOST, PacketSocket
from scapy_tfo.wire.port_guard import PortGuard

_ANY: dict[int, Address] = {4: IPv4Address("0.0.0.0"), 6: IPv6Address("::")}
_TYPES = {4: ETH_P_IP, 6: ETH_P_IPV6}


class ServerLink:
    """The kernel swallows what comes for these ports, and this link hands it in.

    Raises PermissionError without CAP_NET_RAW, OSError where a port is taken.
    """

    def __init__(self, ports: Sequence[int], families: Sequence[int]) -> None:
        self._sockets: list[PacketSocket] = []
        self._senders: dict[int, socket.socket] = {}
        self._guards: list[PortGuard] = []
        self._ports = frozenset(ports)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for family in families:
                self._senders[family] = raw_socket(family, None)
                program = bpf.to_ports(ports, family)
                self._sockets.append(PacketSocket(socket.SOCK_DGRAM, _TYPES[family], program))
                self._guards += [PortGuard(_ANY[family], port=each) for each in ports]
            undo.pop_all()

    def start(self, receive: Callable[[bytes, float], None]) -> None:
        """Begin to hand in packets and the time of each; needs a running asyncio loop."""

        def arrived(packet: bytes, when: float, unfinished: bool) -> None:
            end = ip_header.our_end(packet)
            # Before its filter was there, the socket may have seen others.
            if end is not None and end[1] in self._ports:
                receive(ip_header.with_checksum(packet) if unfinished else packet, when)

        for each in self._sockets:
            each.start(arrived)

    def send(self, packet: bytes) -> None:
        """Send one IP packet to whomever it is for; never blocks. Raises OSError."""
        to = ip_address(ip_header.destination(packet))
        try:
            self._senders[to.version].sendto(packet, (str(to), 0))
        except OSError as error:
            if error.errno not in LOST:
                raise

    def now(self) -> float:
        """The clock of the times that packets come with, in seconds since the epoch."""
        return time.time()

    def close(self) -> None:
        """Give the ports back; harmless when called twice."""
        for taker in self._sockets:
            taker.close()
        for sender in self._senders.values():
            sender.close()
        for guard in self._guards:
            guard.close()
