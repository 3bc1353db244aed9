"""The target's only interface: a TUN device whose other end is a file descriptor.

It is set up by ioctl: importing a netlink library takes longer than all the rest of the start.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import time
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path
from types import MappingProxyType

_SIOCADDRT = 0x890B
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_SIOCSIFNETMASK = 0x891C
_SIOCSIFMTU = 0x8922
_SIOCGIFINDEX = 0x8933
_SIOCSIFTXQLEN = 0x8943
_IFF_UP = 0x1
_IFF_RUNNING = 0x40
_IFF_MULTICAST = 0x1000
_RTF_UP, _RTF_HOST = 0x1, 0x4

_ROUTE4 = struct.Struct("@L16s16s16sHhLPhPLLH0P")
"""struct rtentry of linux/route.h: -, destination, gateway, netmask, flags, -, -, -, metric,
device, MTU, window, initial RTT."""

_ROUTE6 = struct.Struct("@16s32xIHHILIi")
"""struct in6_rtmsg of linux/ipv6_route.h: destination, type, lengths of the prefixes, metric, info,
flags, interface."""

_METRIC6 = 1

_LOCAL = MappingProxyType({"type": "local", "table": 255, "scope": 254})
"""Of a route to this host itself: RTN_LOCAL, RT_TABLE_LOCAL, RT_SCOPE_HOST (rtnetlink(7))."""

_LIMIT = 5.0
_POLL = 0.001

_QUEUE = 16384
"""Packets that wait for the suite to read them; the usual 500 are lost in a burst."""


def change_flags(name: str, *, on: int = 0, off: int = 0) -> int:
    """Set and clear flags of an interface (netdevice(7)); returns those it had. Raises OSError."""
    label = name.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        reply = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16s24x", label))
        flags: int = struct.unpack_from("16sH", reply)[1]
        changed = flags & ~off | on
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", label, changed))
    return flags


def bring_up(name: str, *, mtu: int | None = None) -> None:
    """Bring an interface up, without multicast: it sends nothing but what it is asked for.

    mtu: largest IP packet in bytes; None leaves it. Raises OSError.
    """
    label = name.encode()
    if mtu is not None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCSIFMTU, struct.pack("16si20x", label, mtu))
            # Only the host's own root may (dev_ioctl.c); others live with 500.
            with contextlib.suppress(PermissionError):
                fcntl.ioctl(control, _SIOCSIFTXQLEN, struct.pack("16si20x", label, _QUEUE))
    change_flags(name, on=_IFF_UP, off=_IFF_MULTICAST)


def await_running(name: str) -> None:
    """Wait until an interface passes packets: the kernel starts its queue some time after the
    other end of the link is up. Raises OSError where it never does.
    """
    for _ in range(int(_LIMIT / _POLL)):
        # Changing flags takes the lock under which running links are started, so whatever was
        # running before it has its queue when it returns.
        if change_flags(name, on=_IFF_UP) & _IFF_RUNNING:
            return
        time.sleep(_POLL)
    raise OSError(errno.ENETDOWN, f"{name} is not running after {_LIMIT:g} s")


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


def await_local(address: IPv6Address) -> None:
    """Wait until the kernel takes packets for an IPv6 address that it was given.

    It adds the route to it from a work queue, which may lag by many milliseconds on a busy
    machine; packets that come earlier are dropped. Raises OSError where it never does.
    """
    wanted = f"{address.packed.hex()} 80 "
    for _ in range(int(_LIMIT / _POLL)):
        if wanted in Path("/proc/net/ipv6_route").read_text():
            return
        time.sleep(_POLL)
    raise OSError(errno.EADDRNOTAVAIL, f"no route to {address} in {_LIMIT:g} s")


def add_route(name: str, address: IPv4Address | IPv6Address) -> None:
    """Send what is for one address out by this interface. Raises OSError."""
    if isinstance(address, IPv4Address):
        _add_route4(name, address)
        return
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        size, index = address.max_prefixlen, socket.if_nametoindex(name)
        flags = _RTF_UP | _RTF_HOST
        route = _ROUTE6.pack(address.packed, 0, size, 0, _METRIC6, 0, flags, index)
        fcntl.ioctl(control, _SIOCADDRT, route)


def _add_route4(name: str, address: IPv4Address) -> None:
    label = ctypes.create_string_buffer(name.encode())
    to = struct.pack("=HH4s8x", socket.AF_INET, 0, address.packed)
    anywhere = struct.pack("=H14x", socket.AF_INET)
    flags = _RTF_UP | _RTF_HOST
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        route = _ROUTE4.pack(
            *(0, to, anywhere, anywhere, flags, 0, 0, 0, 0), ctypes.addressof(label), 0, 0, 0
        )
        fcntl.ioctl(control, _SIOCADDRT, route)


def take_network(network: IPv4Network | IPv6Network) -> None:
    """Make every address of a network this host's own. Raises OSError.

    That is a route of a kind that no ioctl can set.
    """
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        with IPRoute() as netlink:
            netlink.route(
                "replace",
                dst=str(network),
                oif=socket.if_nametoindex("lo"),
                family=socket.AF_INET if network.version == 4 else socket.AF_INET6,
                **_LOCAL,
            )
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code)) from None
