"""The target's only interface: a TUN device whose other end is a file descriptor.

Set up by ioctl: importing a netlink library takes longer than all the rest of the start.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
from ipaddress import IPv4Interface, IPv6Interface

_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_SIOCSIFNETMASK = 0x891C
_SIOCSIFMTU = 0x8922
_SIOCGIFINDEX = 0x8933
_SIOCSIFTXQLEN = 0x8943
_IFF_UP = 0x1
_IFF_MULTICAST = 0x1000

_QUEUE = 16384
"""Packets that wait for the suite to read them; the usual 500 are lost in a burst."""


def bring_up(name: str, *, mtu: int | None = None) -> None:
    """Bring an interface up, without multicast: it sends nothing but what it is asked for.

    mtu: largest IP packet in bytes; None leaves it. Raises OSError.
    """
    label = name.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        if mtu is not None:
            fcntl.ioctl(control, _SIOCSIFMTU, struct.pack("16si20x", label, mtu))
            # Only the host's own root may (dev_ioctl.c); others live with 500.
            with contextlib.suppress(PermissionError):
                fcntl.ioctl(control, _SIOCSIFTXQLEN, struct.pack("16si20x", label, _QUEUE))
        reply = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16s24x", label))
        flags = struct.unpack_from("16sH", reply)[1] & ~_IFF_MULTICAST | _IFF_UP
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", label, flags))


def add_address(name: str, address: IPv4Interface | IPv6Interface) -> None:
    """Give an interface an address, and with it the route to its network. Raises OSError."""
    label = name.encode()
    if isinstance(address, IPv4Interface):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for number, value in ((_SIOCSIFADDR, address.ip), (_SIOCSIFNETMASK, address.netmask)):
                request = struct.pack("16sHH4s16x", label, socket.AF_INET, 0, value.packed)
                fcntl.ioctl(control, number, request)
        return
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        reply = fcntl.ioctl(control, _SIOCGIFINDEX, struct.pack("16s24x", label))
        index = struct.unpack_from("16si", reply)[1]
        request = struct.pack("=16sIi", address.ip.packed, address.network.prefixlen, index)
        fcntl.ioctl(control, _SIOCSIFADDR, request)
