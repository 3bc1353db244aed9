"""A link over an Ethernet interface, from addresses that no kernel owns.

The interface need not have an address or a route of its own.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.segment import Address
from scapy_tfo.wire import bpf, ip_header, neighbours
from scapy_tfo.wire.interfaces import inspect
from scapy_tfo.wire.link import Receiver
from scapy_tfo.wire.neighbours import Answer, Question
from scapy_tfo.wire.packet_socket import (
    ETH_P_ALL,
    ETH_P_ARP,
    ETH_P_IP,
    ETH_P_IPV6,
    LOST,
    PacketSocket,
)
from scapy_tfo.wire.ports import PortPool
from scapy_tfo.wire.rate_limit import Pacer

_WAITS = (0.25, 0.5, 1.0, 1.0, 1.0)
"""Seconds to wait for answers after each question in turn, before giving up."""

_SOL_PACKET, _PACKET_ADD_MEMBERSHIP = 263, 1
_PACKET_MR_MULTICAST, _PACKET_MR_UNICAST = 0, 3
_UNSPECIFIED: dict[int, Address] = {4: IPv4Address(0), 6: IPv6Address(0)}


class EthernetLink:
    """Sends and sees Ethernet frames as a host of its own on the link.

    iface: an Ethernet interface that is up (a TAP, a veth, a network card). sources: addresses
    on that link which nobody else has. targets: the only addresses that it sends to. via: the
    next hop of each target that is not on the link itself. is_local: True only where the caller
    knows that no frame leaves this machine; the rate is limited otherwise.

    It has a random MAC address of its own, locally administered, so that the host's kernel takes
    no packet for its own, not even where it forwards. `prepare` asks for the targets from every
    source, so that both sides know each other's MAC before the first segment; from then on
    questions for its sources are answered for as long as the link is open.

    Raises PermissionError without CAP_NET_RAW, SetupError where the interface will not do.
    """

    def __init__(
        self,
        iface: str,
        sources: Sequence[Address],
        targets: Sequence[Address],
        *,
        via: Mapping[Address, Address] | None = None,
        is_local: bool = False,
    ) -> None:
        interface = inspect(iface)
        if not interface.has_ethernet:
            raise SetupError(
                f"{iface} is not an Ethernet interface: give a TAP, veth or network card"
            )
        if not interface.is_up:
            raise SetupError(f"{iface} is down: bring it up first (ip link set {iface} up)")
        self.sources = tuple(sources)
        self.mtu = interface.mtu
        self.is_local = is_local
        self._iface = iface
        self._mac = bytes([0x02]) + random.randbytes(5)
        self._hops = {each.packed: (via or {}).get(each, each) for each in targets}
        self._ours = {each.packed for each in sources}
        self._macs: dict[Address, bytes] = {}
        self._met: set[tuple[Address, Address]] = set()
        self._taken: dict[Address, bytes] = {}
        self._news = asyncio.Event()
        self._ports = PortPool()
        self._receive: Receiver | None = None
        program = bpf.arriving_frames((ETH_P_IP, ETH_P_ARP, ETH_P_IPV6))
        self._socket = PacketSocket(socket.SOCK_RAW, ETH_P_ALL, program, iface)
        self._pacer = None if is_local else Pacer(self._send)
        try:
            self._join(interface.index)
        except OSError:
            self.close()
            raise

    def start(self, receive: Receiver) -> None:
        self._receive = receive
        self._socket.start(self._arrived)

    async def prepare(self) -> None:
        """Find the targets from every source, so that they find the sources too.

        Raises TargetError where one does not answer; SetupError where somebody else has a
        source address. Gives up 3.75 s after the last answer.
        """
        waits = iter(_WAITS)
        while missing := self._missing():
            wait = next(waits, None)
            if wait is None:
                raise TargetError(_unmet(self._iface, missing))
            for source in dict.fromkeys(source for source, _ in missing):
                # Whoever has the address already says so (RFC 5227 2.1.1, RFC 4862 5.4.2).
                nobody = _UNSPECIFIED[source.version]
                self._transmit(neighbours.ask(self._mac, nobody, source))
            for source, hop in missing:
                self._transmit(neighbours.ask(self._mac, source, hop))
            if await self._answered(missing, wait):
                waits = iter(_WAITS)
            for source, mac in self._taken.items():
                where = f"is in use on {self._iface} by {mac.hex(':')}"
                raise SetupError(f"{source} {where}: give a free address")

    def send(self, packet: bytes) -> None:
        """See Link. Raises ValueError where the packet is not for a target or over the MTU."""
        if ip_header.destination(packet) not in self._hops:
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

    def _join(self, index: int) -> None:
        """Let the network card pass frames for our MAC, and the groups we are asked for in."""
        groups = {
            neighbours.group_mac(neighbours.solicited_node(each))
            for each in self.sources
            if isinstance(each, IPv6Address)
        }
        wanted = [(_PACKET_MR_UNICAST, self._mac)]
        wanted += [(_PACKET_MR_MULTICAST, mac) for mac in sorted(groups)]
        for kind, mac in wanted:
            request = struct.pack("iHH8s", index, kind, len(mac), mac)
            self._socket.socket.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, request)

    def _missing(self) -> list[tuple[Address, Address]]:
        """Pairs of a source and a next hop that have not met yet."""
        hops = dict.fromkeys(self._hops.values())
        pairs = [
            (ours, hop) for ours in self.sources for hop in hops if ours.version == hop.version
        ]
        return [pair for pair in pairs if pair not in self._met]

    async def _answered(self, missing: list[tuple[Address, Address]], seconds: float) -> bool:
        """Wait until all have met, or never can; False where that time brought none of them."""
        before = len(missing)
        try:
            async with asyncio.timeout(seconds):
                while self._missing() and not self._taken:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pass
        return len(self._missing()) < before

    def _send(self, packet: bytes) -> None:
        mac = self._macs.get(self._hops[ip_header.destination(packet)])
        if mac is None:
            raise RuntimeError("prepare() has not found the target yet")
        ethertype = ETH_P_IP if packet[0] >> 4 == 4 else ETH_P_IPV6
        self._transmit(neighbours.ethernet(mac, self._mac, ethertype) + packet)

    def _transmit(self, frame: bytes) -> None:
        try:
            self._socket.socket.send(frame)
        except OSError as error:
            if error.errno not in LOST:
                raise

    def _arrived(self, frame: bytes, when: float, unfinished: bool) -> None:
        told = neighbours.read(frame)
        if isinstance(told, Question):
            self._asked(told)
        elif isinstance(told, Answer):
            self._told(told)
        elif self._receive is not None:
            packet = ip_header.unpadded(frame[neighbours.HEADER :])
            if ip_header.destination(packet) in self._ours:
                self._receive(ip_header.with_checksum(packet) if unfinished else packet, when)

    def _asked(self, question: Question) -> None:
        if question.asked.packed in self._ours:
            self._transmit(neighbours.reply(self._mac, question))
        if question.asker in self._hops.values():
            # Whoever asks also tells its own MAC (RFC 826, RFC 4861 section 7.2.3).
            self._macs[question.asker] = question.mac

    def _told(self, answer: Answer) -> None:
        if answer.address.packed in self._ours:
            self._taken[answer.address] = answer.mac
            self._news.set()
        elif answer.address in self._hops.values():
            self._macs[answer.address] = answer.mac
            self._met.add((answer.to, answer.address))
            self._news.set()


def _unmet(iface: str, missing: Sequence[tuple[Address, Address]]) -> str:
    """The one line that says who did not answer whom."""
    wanted = ", ".join(dict.fromkeys(str(hop) for _, hop in missing))
    askers = ", ".join(dict.fromkeys(str(source) for source, _ in missing))
    return (
        f"{wanted} does not answer {askers} on {iface}: "
        "check that the target is up, and that the sources are in its subnet"
    )
