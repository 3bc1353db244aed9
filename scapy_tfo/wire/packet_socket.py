"""An AF_PACKET socket on the asyncio loop, with the kernel's own time of arrival."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from scapy_tfo.wire import bpf

if TYPE_CHECKING:
    import asyncio

ETH_P_ALL, ETH_P_IP, ETH_P_ARP, ETH_P_IPV6 = 0x0003, 0x0800, 0x0806, 0x86DD

Arrival = Callable[[bytes, float, bool], None]
"""Called with the bytes, the time in seconds since the epoch, and whether the TCP checksum is
still to be filled in (the sender left it to hardware that a virtual link does not have)."""

LOST = frozenset(
    (
        *(errno.EAGAIN, errno.ENOBUFS, errno.EPERM, errno.EHOSTUNREACH, errno.ENETUNREACH),
        *(errno.ENETDOWN, errno.ENODEV, errno.ENXIO, errno.EMSGSIZE),
    )
)
"""Errors of a send that amount to a packet lost on the way (EPERM: dropped by a firewall; the last
four: the interface, or the route that had room for it, has gone)."""

_SOL_PACKET, _PACKET_AUXDATA = 263, 8
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_CHECKSUM_NOT_READY = 1 << 3
_AUXDATA = struct.Struct("I")
_TIMESPEC = struct.Struct("ll")
_BUFFER = 8 << 20
_LARGEST = 1 << 17
_PER_WAKE_UP = 256


class PacketSocket:
    """Packets of one protocol, off one interface or (iface=None) all of them.

    kind: SOCK_RAW with the link header, SOCK_DGRAM without. program: see bpf.py.
    Raises PermissionError without CAP_NET_RAW, OSError where the interface is not there.
    """

    def __init__(
        self, kind: socket.SocketKind, protocol: int, program: bytes, iface: str | None = None
    ) -> None:
        # Protocol 0 receives nothing until it is bound. Without an interface to bind to, a packet
        # may slip in before the filter: whoever takes packets off all interfaces looks again.
        at_once = socket.htons(protocol) if iface is None else 0
        self.socket = socket.socket(socket.AF_PACKET, kind, at_once)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room = bytearray(_LARGEST)
        try:
            self.socket.setblocking(False)
            bpf.attach(self.socket, program)
            self.socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            try:
                self.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
            except PermissionError:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            if iface is not None:
                self.socket.bind((iface, protocol))
        except OSError:
            self.socket.close()
            raise

    def start(self, arrived: Arrival) -> None:
        """Hand in what arrives; needs a running asyncio loop."""
        # Not all that know this module have a loop, which takes long to load.
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.socket.fileno(), self._drain, arrived)

    def close(self) -> None:
        """Harmless when called twice."""
        if self._loop is not None and not self._loop.is_closed() and self.socket.fileno() >= 0:
            self._loop.remove_reader(self.socket.fileno())
        self.socket.close()

    def _drain(self, arrived: Arrival) -> None:
        room = self._room
        for _ in range(_PER_WAKE_UP):
            try:
                size, ancillary, _, _ = self.socket.recvmsg_into([room], 128)
            except OSError:
                # Empty, closed by the receiver in mid-burst, or the interface has gone.
                return
            when, unfinished = 0.0, False
            for level, kind, data in ancillary:
                if level == _SOL_PACKET and kind == _PACKET_AUXDATA:
                    unfinished = bool(_AUXDATA.unpack_from(data)[0] & _CHECKSUM_NOT_READY)
                elif level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                    seconds, nanoseconds = _TIMESPEC.unpack(data)
                    when = seconds + nanoseconds / 1e9
            arrived(bytes(room[:size]), when, unfinished)
