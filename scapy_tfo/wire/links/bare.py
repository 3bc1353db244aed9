"""A link over an interface without link header, from addresses that no kernel owns."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.wire import bpf, ip_header
from scapy_tfo.wire.interfaces import inspect
from scapy_tfo.wire.link import Receiver
from scapy_tfo.wire.packet_socket import ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, LOST, PacketSocket
from scapy_tfo.wire.ports import PortPool
from scapy_tfo.wire.rate_limit import Pacer


class BareLink:
    """Sends and sees IP packets on an interface such as a TUN that somebody else holds.

    iface: an interface of IP packets alone, which is up. sources: addresses that the target
    routes back to the interface, and that no kernel owns. targets: the only addresses that it
    sends to. is_local: True only where the caller knows that no packet leaves this machine.

    Raises PermissionError without CAP_NET_RAW, SetupError where the interface will not do.
    """

    def __init__(
        self,
        iface: str,
        sources: Sequence[Address],
        targets: Sequence[Address],
        *,
        is_local: bool = False,
    ) -> None:
        interface = inspect(iface)
        if not interface.is_bare:
            raise SetupError(f"{iface} does not carry bare IP packets: give a TUN interface")
        if not interface.is_up:
            raise SetupError(f"{iface} is down: bring it up first (ip link set {iface} up)")
        self.sources = tuple(sources)
        self.mtu = interface.mtu
        self.is_local = is_local
        self._iface = iface
        self._targets = {each.packed for each in targets}
        self._ours = {each.packed for each in sources}
        self._ports = PortPool()
        self._receive: Receiver | None = None
        self._pacer = None if is_local else Pacer(self._send)
        self._socket = PacketSocket(socket.SOCK_DGRAM, ETH_P_ALL, bpf.arriving(), iface)

    def start(self, receive: Receiver) -> None:
        self._receive = receive
        self._socket.start(self._arrived)

    async def prepare(self) -> None:
        """There are no neighbours."""

    def send(self, packet: bytes) -> None:
        """See Link. Raises ValueError where the packet is not for a target or over the MTU."""
        if ip_header.destination(packet) not in self._targets:
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
        self._socket.close()

    def _send(self, packet: bytes) -> None:
        ethertype = ETH_P_IP if packet[0] >> 4 == 4 else ETH_P_IPV6
        try:
            self._socket.socket.sendto(packet, (self._iface, ethertype))
        except OSError as error:
            if error.errno not in LOST:
                raise

    def _arrived(self, packet: bytes, when: float, unfinished: bool) -> None:
        if self._receive is not None and ip_header.destination(packet) in self._ours:
            self._receive(ip_header.with_checksum(packet) if unfinished else packet, when)
