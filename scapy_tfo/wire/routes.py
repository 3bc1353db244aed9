"""Asks the host's own routing about a target, without sending anything."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from scapy_tfo.segment import Address

_IP_MTU, _IPV6_MTU = 14, 24
_DISCARD = 9
_LARGEST = 65535


@dataclass(frozen=True, slots=True)
class Route:
    """source: the address that the kernel would send from. mtu: in bytes. is_local: the target
    is this machine."""

    source: Address
    mtu: int
    is_local: bool


def route_to(target: Address, iface: str | None = None) -> Route:
    """Ask by connecting a UDP socket.

    Raises OSError where there is no route, or no address to send from.
    """
    ipv4 = isinstance(target, IPv4Address)
    with socket.socket(socket.AF_INET if ipv4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        if iface is not None:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, iface.encode())
        probe.connect((scoped(target, iface), _DISCARD))
        source = unscoped(ip_address(probe.getsockname()[0]))
        level, name = (socket.IPPROTO_IP, _IP_MTU) if ipv4 else (socket.IPPROTO_IPV6, _IPV6_MTU)
        mtu = probe.getsockopt(level, name)
    is_local = target.is_loopback or source == unscoped(target)
    return Route(source, min(mtu, _LARGEST), is_local)


def is_ours(address: Address, iface: str | None = None) -> bool:
    """Whether the address is one of this host's own: whether a socket can be bound to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((scoped(address, iface), 0))
        except OSError:
            return False
    return True


def scoped(address: Address, iface: str | None) -> str:
    """As text for a socket: a link-local address of IPv6 with the interface it is on."""
    if isinstance(address, IPv6Address) and address.is_link_local:
        scope = address.scope_id or iface
        return f"{unscoped(address)}%{scope}" if scope else str(address)
    return str(address)


def unscoped(address: Address) -> Address:
    """The address as it stands in a packet."""
    return IPv6Address(address.packed) if isinstance(address, IPv6Address) else address
