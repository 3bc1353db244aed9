"""The wire to this host's kernel: a TUN device in a network namespace of its own."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import ipaddress
import itertools
import os
import select
import socket
import struct
import time
from ipaddress import IPv6Address
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel import interface
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.play.flows import client_address
from scapy_tfo.pkt.play.wire import Arrival
from scapy_tfo.wire.links.tun import open_tun
from scapy_tfo.wire.packet_socket import LOST

DEVICE = "tun0"
"""As packetdrill calls it: commands of scripts speak of it."""

_TUNSETOFFLOAD = 0x400454D0
_OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08
"""Checksums, and segmentation of IPv4, IPv6 and with ECN, as of a network card: what the kernel
hands over in one piece is seen in one piece."""

_ETH_P_ALL = 0x0003
_SOL_PACKET, _PACKET_AUXDATA = 263, 8
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_PACKET_OUTGOING = 4
_CHECKSUM_NOT_READY = 1 << 3
_BUFFER = 4 << 20
_LARGEST = 1 << 17
_IPV6_MTU = 1280
_TIMESPEC = struct.Struct("ll")
_FIRST_PORT = 32769
_COARSE = 6
"""CLOCK_MONOTONIC_COARSE, which goes on with each tick of the kernel."""

_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_USUAL_CONTROL = "cubic"


class LocalWire:
    """The device, its addresses and routes in this process's namespace.

    Made without addresses, which takes longest; `configure` gives it those of a script.
    """

    def __init__(self) -> None:
        """Raises SetupError where the host does not allow it."""
        self.tick = int(time.clock_getres(_COARSE) * 1e9)
        interface.bring_up("lo")
        self._tun, name = open_tun(DEVICE)
        if name != DEVICE:
            os.close(self._tun)
            raise SetupError(f"the TUN device was named {name} instead of {DEVICE}")
        fcntl.ioctl(self._tun, _TUNSETOFFLOAD, _OFFLOADS)
        self._socket: socket.socket | None = None
        self._room = bytearray(_LARGEST)
        self._ports = itertools.count(_FIRST_PORT)

    def configure(self, settings: Settings, clients: int = 1) -> None:
        """Addresses, MTU and routes of a script. clients: see `client_address`. Raises
        SetupError."""
        local, remote = settings.addresses
        if settings.family == 6 and settings.mtu is not None and settings.mtu < _IPV6_MTU:
            raise SetupError(f"IPv6 needs an MTU of {_IPV6_MTU} bytes or more, not {settings.mtu}")
        try:
            interface.bring_up(DEVICE, mtu=settings.mtu or 1500)
            prefix = settings.prefix if settings.prefix and settings.family == 4 else None
            prefix = prefix or (16 if settings.family == 4 else 64)
            interface.add_address(DEVICE, ipaddress.ip_interface(f"{local}/{prefix}"))
            if isinstance(local, IPv6Address):
                interface.await_local(local)
            for client in range(clients):
                interface.add_route(DEVICE, client_address(remote, client + 1))
            self._open()
        except OSError as error:
            raise SetupError(f"cannot set up {DEVICE} for {local}: {error.strerror}") from error

    def _open(self) -> None:
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._socket = sniffer
        sniffer.setblocking(False)
        sniffer.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        sniffer.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        with contextlib.suppress(PermissionError):
            sniffer.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        sniffer.bind((DEVICE, _ETH_P_ALL))

    def now(self) -> int:
        return time.time_ns()

    def sleep_until(self, when: int) -> None:
        while (left := when - time.time_ns()) > 0:
            time.sleep(left / 1e9)

    def send(self, packet: bytes) -> None:
        try:
            os.write(self._tun, packet)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise ValueError("the kernel does not take such a packet from a device") from None
            if error.errno not in LOST:
                raise

    def receive(self, until: int) -> Arrival | None:
        assert self._socket is not None
        while True:
            arrival = self._read()
            if arrival is not None:
                self._drain()
                return arrival
            left = until - time.time_ns()
            if left <= 0:
                return None
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            poll.poll(max(left / 1e6, 0.05))

    def new_port(self) -> int:
        return next(self._ports)

    def _read(self) -> Arrival | None:
        """The next packet of the kernel that waits, or None."""
        assert self._socket is not None
        room = self._room
        while True:
            try:
                size, ancillary, _, address = self._socket.recvmsg_into([room], 128)
            except BlockingIOError:
                return None
            if address[2] != _PACKET_OUTGOING:
                continue
            when, ready = 0, True
            for level, kind, data in ancillary:
                if level == _SOL_PACKET and kind == _PACKET_AUXDATA:
                    ready = not struct.unpack_from("I", data)[0] & _CHECKSUM_NOT_READY
                elif level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                    seconds, nanoseconds = _TIMESPEC.unpack(data)
                    when = seconds * 1_000_000_000 + nanoseconds
            return Arrival(bytes(room[:size]), when or time.time_ns(), ready)

    def _drain(self) -> None:
        """What went out was seen already; the device's queue must not fill up with it."""
        with contextlib.suppress(OSError):
            os.read(self._tun, _LARGEST)


def control_wanted(before: str) -> str:
    """The congestion control that a script's sockets should have, "" for that of the namespace.

    Scripts are written for cubic. A namespace may not choose what the host has not allowed, but a
    socket may. before: that of the namespace before the script's set-up, which may have chosen
    another one itself.
    """
    return _USUAL_CONTROL if namespace_control() == before != _USUAL_CONTROL else ""


def namespace_control() -> str:
    """The congestion control of this namespace."""
    return _CONTROL.read_text().strip()
