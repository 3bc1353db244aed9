"""Reads from the kernel whether packets of an interface come as they were sent, or may be joined.

A stack that holds a TUN or TAP device may write several segments as one, with a header of virtio
(IFF_VNET_HDR in tun.txt of the kernel) that says where to part them: whoever listens on the device
sees one long segment. Asked by rtnetlink(7): sysfs may show another network namespace.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_RTM_GETLINK, _NLM_F_REQUEST = 18, 1
_NETLINK_HEADER, _INTERFACE_HEADER = struct.Struct("=IHHII"), struct.Struct("=BxHiII")
_ATTRIBUTE = struct.Struct("=HH")
_IFLA_LINKINFO, _IFLA_INFO_KIND, _IFLA_INFO_DATA, _IFLA_TUN_VNET_HDR = 18, 1, 2, 5
_MOST = 1 << 16
"""Bytes of an answer about one interface."""
_PATIENCE = 1.0
"""Seconds that the kernel, which answers at once, may take."""


def keeps_segments(name: str) -> bool:
    """Whether an interface is a TUN or TAP device without headers of virtio, where nothing joins or
    splits packets.

    False also where there is no such interface, or its driver cannot be told.
    """
    try:
        index = socket.if_nametoindex(name)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
            kernel.settimeout(_PATIENCE)
            kernel.send(_asked(index))
            answer = kernel.recv(_MOST)
    except OSError:
        return False
    links = dict(_attributes(answer[_NETLINK_HEADER.size + _INTERFACE_HEADER.size :]))
    info = dict(_attributes(links.get(_IFLA_LINKINFO, b"")))
    if info.get(_IFLA_INFO_KIND) != b"tun\0":
        return False
    return dict(_attributes(info.get(_IFLA_INFO_DATA, b""))).get(_IFLA_TUN_VNET_HDR) == b"\0"


def _asked(index: int) -> bytes:
    size = _NETLINK_HEADER.size + _INTERFACE_HEADER.size
    header = _NETLINK_HEADER.pack(size, _RTM_GETLINK, _NLM_F_REQUEST, 1, 0)
    return header + _INTERFACE_HEADER.pack(socket.AF_UNSPEC, 0, index, 0, 0)


def _attributes(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Types and values of the attributes, each of which begins on a multiple of 4 bytes."""
    while len(block) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(block)
        if size < _ATTRIBUTE.size:
            return
        yield kind & 0x3FFF, block[_ATTRIBUTE.size : size]
        block = block[size + -size % 4 :]
