"""The target's only interface: a TUN device whose other end is a file descriptor.

Set up by ioctl: importing a netlink library would take longer than all the rest of the start.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from ipaddress import IPv4Interface, IPv6Interface

from scapy_tfo.errors import SetupError

TUN_NAME = "tfo0"
TUN_DEVICE = "/dev/net/tun"

_TUNSETIFF = 0x400454CA
_IFF_TUN = 0x0001
_IFF_NO_PI = 0x1000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_SIOCSIFNETMASK = 0x891C
_SIOCSIFMTU = 0x8922
_SIOCGIFINDEX = 0x8933
_IFF_UP = 0x1
_IFF_MULTICAST = 0x1000


def open_tun(mtu: int) -> int:
    """Make the TUN device in this namespace and return its descriptor, non-blocking.

    Whole IP packets go in and come out, no header before them, never larger than `mtu` bytes
    (no offloads). The device ends when the last descriptor is closed.
    Raises SetupError where the host does not let us.
    """
    try:
        fd = os.open(TUN_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SetupError(
            f"{TUN_DEVICE}: {error.strerror}: the lab needs it readable and writable "
            "(modprobe tun; chmod 0666; in a container --device /dev/net/tun)"
        ) from None
    request = struct.pack("16sH22x", TUN_NAME.encode(), _IFF_TUN | _IFF_NO_PI)
    try:
        fcntl.ioctl(fd, _TUNSETIFF, request)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCSIFMTU, struct.pack("16si20x", TUN_NAME.encode(), mtu))
            set_up(control, TUN_NAME)
    except OSError as error:
        os.close(fd)
        raise SetupError(f"no TUN device for the lab: {error.strerror}") from None
    return fd


def set_up(control: socket.socket, name: str) -> None:
    """Bring an interface up, without multicast: nothing is sent that the suite did not ask for.

    control: any IPv4 socket. Raises OSError.
    """
    reply = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16s24x", name.encode()))
    flags = struct.unpack_from("16sH", reply)[1] & ~_IFF_MULTICAST | _IFF_UP
    fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags))


def loopback_up() -> None:
    """Bring the namespace's loopback up. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        set_up(control, "lo")


def add_address(name: str, address: IPv4Interface | IPv6Interface) -> None:
    """Give an interface an address, and the route to its network with it. Raises OSError."""
    if isinstance(address, IPv4Interface):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for number, value in (
                (_SIOCSIFADDR, address.ip),
                (_SIOCSIFNETMASK, address.netmask),
            ):
                request = struct.pack("16sHH4s16x", name.encode(), socket.AF_INET, 0, value.packed)
                fcntl.ioctl(control, number, request)
        return
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        reply = fcntl.ioctl(control, _SIOCGIFINDEX, struct.pack("16s24x", name.encode()))
        index = struct.unpack_from("16si", reply)[1]
        request = struct.pack("=16sIi", address.ip.packed, address.network.prefixlen, index)
        fcntl.ioctl(control, _SIOCSIFADDR, request)
