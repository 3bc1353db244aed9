"""A way into the namespace on hosts where nobody may open /dev/net/tun.

A veth pair stands in the namespace, the target's address on one end. The agent passes packets
between the other end and a socket pair whose far descriptor the suite reads and writes as if it
were a TUN device. It costs one more hop for each packet, and a netlink library at the start.
"""

from __future__ import annotations

import array
import asyncio
import errno
import fcntl
import os
import socket
import struct

from scapy_tfo.lab.kernel import interface
from scapy_tfo.wire.packet_socket import ETH_P_ALL, ETH_P_IP, ETH_P_IPV6

_SIOCETHTOOL = 0x8946
_SIOCGIFHWADDR = 0x8927
_IFF_NOARP = 0x80
_OFFLOADS = {"tx-checksum": 0x17, "tso": 0x1F, "gso": 0x24}
_ETHERNET = 14
_BUFFER = 4 << 20
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_PER_WAKE_UP = 256


def add_veth(name: str, peer: str) -> None:
    """Make a veth pair that sends plain frames to whoever listens: no ARP, no offloads.

    Raises OSError.
    """
    from pyroute2 import IPRoute, NetlinkError

    try:
        with IPRoute() as netlink:
            netlink.link("add", ifname=name, kind="veth", peer={"ifname": peer})
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code)) from None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for each in (name, peer):
            label = each.encode()
            for command in _OFFLOADS.values():
                value = array.array("I", [command, 0])
                address, _ = value.buffer_info()
                fcntl.ioctl(control, _SIOCETHTOOL, struct.pack("16sP16x", label, address))
            interface.change_flags(each, on=_IFF_NOARP)


class Relay:
    """Passes IP packets between a veth end, which is up, and a socket pair.

    far: the suite's end of the pair, one datagram for each packet.
    """

    def __init__(self, name: str, peer: str) -> None:
        """name: the target's end of the veth pair; peer: the one that the packets come by."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            reply = fcntl.ioctl(control, _SIOCGIFHWADDR, struct.pack("16s24x", name.encode()))
        address: bytes = struct.unpack_from("16sH6s", reply)[2]
        self._heads = {
            4: address + address + ETH_P_IP.to_bytes(2, "big"),
            6: address + address + ETH_P_IPV6.to_bytes(2, "big"),
        }
        self._near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._frames.bind((peer, ETH_P_ALL))
        for sock in (self._near, self.far, self._frames):
            sock.setblocking(False)
            for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
                _grow(sock, option)

    def start(self) -> None:
        """Begin to pass packets; needs a running asyncio loop."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._near, self._inward)
        loop.add_reader(self._frames, self._outward)

    def _inward(self) -> None:
        for _ in range(_PER_WAKE_UP):
            try:
                packet = self._near.recv(1 << 16)
            except OSError:
                return
            head = self._heads.get(packet[0] >> 4 if packet else 0)
            if head is not None:
                _send(self._frames, head + packet)

    def _outward(self) -> None:
        for _ in range(_PER_WAKE_UP):
            try:
                frame = self._frames.recv(1 << 16)
            except OSError:
                return
            _send(self._near, frame[_ETHERNET:])


def _send(sock: socket.socket, data: bytes) -> None:
    try:
        sock.send(data)
    except OSError as error:
        # A full queue loses packets, as a network does; a closed one ends with the agent.
        if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.ECONNREFUSED, errno.ENOTCONN):
            raise


def _grow(sock: socket.socket, option: int) -> None:
    try:
        sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
    except PermissionError:
        plain = socket.SO_SNDBUF if option == _SO_SNDBUFFORCE else socket.SO_RCVBUF
        sock.setsockopt(socket.SOL_SOCKET, plain, _BUFFER)
