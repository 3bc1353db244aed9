"""A TUN device in this network namespace, with some addresses that the kernel does not own."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel import interface
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.tun import TunLink, open_tun

MTU = 1500

NEIGHBOURS = 2
"""Addresses of each family that the kernel gets: a client needs two to be another client."""

_LEAST_ROOM = 3
"""Bits of a network that hold the stack, its neighbours, and what IPv4 keeps for itself."""

_DEFAULT_IN_DISGUISE = 8
"""Routes with shorter prefixes lead everywhere, as the halves that a VPN makes of the default."""

Place = IPv4Interface | IPv6Interface
"""An address and the network that it is in."""


@dataclass(frozen=True, slots=True)
class Device:
    """name: of the interface. link: its far side; closing it removes the device, and so does the
    end of the process. neighbours: the kernel's own addresses there."""

    name: str
    link: TunLink
    neighbours: tuple[Address, ...]


def open_device(places: Sequence[Place], *, hosts: int = 1, neighbours: int = NEIGHBOURS) -> Device:
    """Make a device with these addresses on its far side, and the kernel on the near one.

    hosts: addresses on the far side of each place, its own the first, the others the next ones.
    neighbours: addresses that the kernel gets of each place, its network's first that are free.
    Must not be called from a running asyncio loop, which the netlink library cannot share.
    Raises SetupError where a network is in use here, or where the host does not allow it.
    """
    if len({place.version for place in places}) < len(places):
        raise SetupError("more than one --address of a family: give at most one of each")
    for place in places:
        _check(place)
    far = [place.ip + step for place in places for step in range(hosts)]
    near = [each for place in places for each in _neighbours(place, far, neighbours)]
    descriptor, name = open_tun()
    try:
        interface.bring_up(name, mtu=MTU)
        _add(name, near)
    except OSError as error:
        os.close(descriptor)
        raise SetupError(f"cannot set up {name}: {error.strerror}") from error
    except BaseException:
        os.close(descriptor)
        raise
    link = TunLink(descriptor, far, MTU)
    return Device(name, link, tuple(each.ip for each in near))


def parse_place(text: str) -> Place:
    """`ADDRESS[/PREFIX]`, /24 or /64 where no prefix is given. Raises SetupError."""
    try:
        place = ipaddress.ip_interface(text)
        if "/" not in text:
            place = ipaddress.ip_interface(f"{text}/{24 if place.version == 4 else 64}")
    except ValueError:
        raise SetupError(
            f"'{text}' is not an address: write 198.51.100.2 or 198.51.100.2/24"
        ) from None
    address, network = place.ip, place.network
    if address.is_multicast or address.is_unspecified or address.is_loopback:
        raise SetupError(f"{address} is not the address of a host on a link")
    if network.max_prefixlen - network.prefixlen < _LEAST_ROOM:
        raise SetupError(
            f"{place} has no room for neighbours: give a network of at least 8 addresses"
        )
    if address in (network.network_address, network.broadcast_address):
        raise SetupError(f"{address} is not the address of one host in {network}")
    return place


def _neighbours(place: Place, far: Sequence[Address], count: int) -> list[Place]:
    """The first addresses of the network that are not of the far side."""
    found: list[Place] = []
    address = place.network.network_address
    while len(found) < count:
        address += 1
        if address not in far:
            found.append(ipaddress.ip_interface(f"{address}/{place.network.prefixlen}"))
    return found


def _check(place: Place) -> None:
    for network in _routes(place.version):
        if network.overlaps(place.network):
            raise SetupError(
                f"{place.network} is in use on this host (there is a route to {network}): "
                "give another network with --address"
            )


def _routes(version: int) -> Iterator[IPv4Network | IPv6Network]:
    """Where the host's routes lead, its own addresses among them; the default left out."""
    from pyroute2 import IPRoute

    family = socket.AF_INET if version == 4 else socket.AF_INET6
    with IPRoute() as netlink:
        for route in netlink.get_routes(family=family):
            to, length = route.get_attr("RTA_DST"), route["dst_len"]
            if to is not None and length >= _DEFAULT_IN_DISGUISE:
                yield ipaddress.ip_network(f"{to}/{length}")


def _add(name: str, places: Sequence[Place]) -> None:
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    index = socket.if_nametoindex(name)
    with IPRoute() as netlink:
        for place in places:
            try:
                netlink.addr(
                    "add", index=index, address=str(place.ip), prefixlen=place.network.prefixlen
                )
            except NetlinkError as error:
                why = os.strerror(error.code)
                if place.version == 6 and error.code in (errno.EACCES, errno.EOPNOTSUPP):
                    why = "IPv6 is off here; give an IPv4 --address alone"
                raise SetupError(f"cannot give {name} the address {place}: {why}") from None
    for place in places:
        if isinstance(place.ip, IPv6Address):
            interface.await_local(place.ip)
