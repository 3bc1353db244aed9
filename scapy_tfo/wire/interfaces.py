"""Reads the properties of a network interface from the host, and the next hop behind one."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address

_SIOCGIFFLAGS, _SIOCGIFADDR, _SIOCGIFMTU, _SIOCGIFHWADDR = 0x8913, 0x8915, 0x8921, 0x8927
_IFF_UP = 0x1
_ETHERNET = 1
_NO_LINK_HEADER = frozenset({512, 519, 65534})
"""Hardware types of PPP, raw IP and TUN (ARPHRD_PPP, ARPHRD_RAWIP, ARPHRD_NONE)."""
_ROUTES = Path("/proc/thread-self/net")
_RTF_UP, _RTF_GATEWAY = 0x1, 0x2


@dataclass(frozen=True, slots=True)
class Interface:
    """mtu: in bytes. has_ethernet: frames with Ethernet headers. is_bare: IP and nothing else.
    has_ipv4: it has an IPv4 address of its own."""

    name: str
    index: int
    mtu: int
    is_up: bool
    has_ethernet: bool
    is_bare: bool
    has_ipv4: bool


def inspect(name: str) -> Interface:
    """Look at an interface. Raises SetupError where there is none of that name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:

        def ask(request: int, form: str) -> int:
            answer = fcntl.ioctl(probe, request, struct.pack("16s24x", name.encode()))
            value: int = struct.unpack_from(form, answer, 16)[0]
            return value

        try:
            index = socket.if_nametoindex(name)
            hardware = ask(_SIOCGIFHWADDR, "H")
            mtu = ask(_SIOCGIFMTU, "i")
            is_up = bool(ask(_SIOCGIFFLAGS, "h") & _IFF_UP)
        except OSError as error:
            names = ", ".join(each for _, each in socket.if_nameindex())
            raise SetupError(f"no such interface: '{name}' (there are: {names})") from error
        try:
            has_ipv4 = bool(ask(_SIOCGIFADDR, "H"))
        except OSError:
            has_ipv4 = False
    return Interface(
        name=name,
        index=index,
        mtu=mtu,
        is_up=is_up,
        has_ethernet=hardware == _ETHERNET,
        is_bare=hardware in _NO_LINK_HEADER,
        has_ipv4=has_ipv4,
    )


def next_hop(iface: str, target: Address) -> Address | None:
    """The gateway that the host's routes through `iface` name for a target; None where the
    target is on the link, or there is no such route."""
    best: tuple[int, Address | None] = (-1, None)
    for network, gateway in _routes(iface, target.version):
        if target in network and network.prefixlen > best[0]:
            best = network.prefixlen, gateway
    return best[1]


def _routes(iface: str, version: int) -> Iterator[tuple[IPv4Network | IPv6Network, Address | None]]:
    """Destination and gateway of each route through an interface (proc(5))."""
    try:
        text = (_ROUTES / ("route" if version == 4 else "ipv6_route")).read_text()
    except OSError:
        return
    for line in text.splitlines():
        words = line.split()
        gateway: Address
        if version == 4 and words[0] == iface:
            to, via, mask = (int(words[at], 16).to_bytes(4, "little") for at in (1, 2, 7))
            flags, gateway = int(words[3], 16), IPv4Address(via)
            network = ip_network((to, int.from_bytes(mask, "big").bit_count()))
        elif version == 6 and words[-1] == iface:
            flags, gateway = int(words[8], 16), IPv6Address(bytes.fromhex(words[4]))
            network = ip_network((bytes.fromhex(words[0]), int(words[1], 16)))
        else:
            continue
        if flags & _RTF_UP:
            yield network, gateway if flags & _RTF_GATEWAY else None
