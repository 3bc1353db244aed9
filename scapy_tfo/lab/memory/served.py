"""Stacks on a TUN device, each reached through this host's kernel like any other host.

The suite's packets take a raw socket, the kernel's routes and the device; the answers take the
device and a packet socket, while the kernel's own TCP sees them too and is kept quiet by the
port guard. Both ends live in one asyncio loop, so that the stacks' hooks can be called directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_interface

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.memory.device import Device, open_device
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.memory.target import STANDING
from scapy_tfo.lab.process import namespace
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address
from scapy_tfo.wire import ip_header
from scapy_tfo.wire.links.host import HostLink

PLACES = (ip_interface("198.18.0.16/16"), ip_interface("fd00:7413:2::10/64"))
"""Of the first stack of each family (RFC 2544 and RFC 4193: nobody's real networks)."""

_NEIGHBOURS = 6


@dataclass(frozen=True, slots=True)
class ServedLab:
    """One stack, ready to be probed. link: through the kernel. ports: its listeners by name."""

    link: HostLink
    host: ReferenceHost
    ports: dict[str, int]
    addresses: dict[int, Address]


def open_network(hosts: int) -> Device:
    """A device with so many addresses of each family, in a new network namespace.

    This process stays in that namespace. Call it from outside of any loop, and from a process
    with a single thread. Raises SetupError where the host does not allow it.
    """
    namespace.enter_namespace()
    return open_device(PLACES, hosts=hosts, neighbours=_NEIGHBOURS)


class ServedNetwork:
    """The stacks behind one device, as many at a time as it has addresses of their family.

    Needs a running loop. Raises SetupError and OSError as HostLink does.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._hosts: dict[bytes, ReferenceHost] = {}
        # A way is used again: the kernel takes long to close a packet socket.
        self._ways: dict[Address, HostLink] = {}
        # The last given back goes first, so that no more ways are made than are needed.
        self._free = {4: asyncio.LifoQueue[Address](), 6: asyncio.LifoQueue[Address]()}
        for address in device.link.sources:
            self._free[address.version].put_nowait(address)
        device.link.start(self._arrived)

    @asynccontextmanager
    async def serve(
        self, family: int, *, stack_class: type[Stack], settings: Settings, keys: bytes, seed: int
    ) -> AsyncIterator[ServedLab]:
        """A stack with the standing listeners, as soon as an address of a family, 4 or 6, is free.

        keys: of its cookies, 16 bytes. seed: of everything else that is random in it.
        """
        address = await self._free[family].get()
        way = self._ways.get(address) or self._way(address)
        stack = stack_class((address,), settings, cookies=KeyRing([keys]), seed=seed)
        host = self._hosts[address.packed] = ReferenceHost(stack, self._device.link.send)
        try:
            ports = {name: await host.listen(options) for name, options in STANDING.items()}
            yield ServedLab(way, host, ports, {family: address})
        finally:
            host.close()
            del self._hosts[address.packed]
            self._free[family].put_nowait(address)

    def close(self) -> None:
        """Close the ways to the stacks; the device stays."""
        for way in self._ways.values():
            way.close()

    def _way(self, address: Address) -> HostLink:
        sources = [each for each in self._device.neighbours if each.version == address.version]
        way = self._ways[address] = HostLink([address], sources, is_local=True)
        return way

    def _arrived(self, packet: bytes, _when: float) -> None:
        host = self._hosts.get(ip_header.destination(packet))
        if host is not None:
            host.receive(packet)
