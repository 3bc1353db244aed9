"""Stacks on a TUN device, each reached through this host's kernel as any other host would be.

The suite's packets take a raw socket, the kernel's routes and the device; the answers take the
device and a packet socket, while the kernel's own TCP sees them too and is kept quiet by the
port guard. Both ends live in one asyncio loop, so that the stacks' hooks are at hand.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from ipaddress import ip_interface

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab import namespace
from scapy_tfo.lab.device import Device, open_device
from scapy_tfo.lab.host import ReferenceHost
from scapy_tfo.lab.reference import STANDING
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address
from scapy_tfo.wire import packets
from scapy_tfo.wire.host import HostLink

PLACES = (ip_interface("198.18.0.16/16"), ip_interface("fd00:7413:2::10/64"))
"""Of the first stack of each family (RFC 2544 and RFC 4193: nobody's real networks)."""

_NEIGHBOURS = 4


@dataclass(frozen=True, slots=True)
class ServedLab:
    """One stack, ready to be probed. link: through the kernel. ports: its listeners by name."""

    link: HostLink
    host: ReferenceHost
    ports: dict[str, int]
    addresses: dict[int, Address]

    def close(self) -> None:
        """End the stack, and the way to it. Harmless when called twice."""
        self.link.close()
        self.host.close()


def open_network(hosts: int) -> Device:
    """A device with so many addresses of each family, in a new network namespace.

    This process stays in that namespace. Call it from outside of any loop, and from a process
    with a single thread. Raises SetupError where the host does not allow it.
    """
    namespace.enter_namespace()
    return open_device(PLACES, hosts=hosts, neighbours=_NEIGHBOURS)


class ServedNetwork:
    """The stacks behind one device, each at an address of its own; needs a running loop."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._hosts: dict[bytes, ReferenceHost] = {}
        self._free: defaultdict[int, deque[Address]] = defaultdict(deque)
        for each in device.link.sources:
            self._free[each.version].append(each)
        device.link.start(self._arrived)

    async def start(
        self, family: int, *, stack_class: type[Stack], settings: Settings, keys: bytes, seed: int
    ) -> ServedLab:
        """Start a stack with the standing listeners at the next address of a family, 4 or 6.

        keys: of its cookies, 16 bytes. seed: of everything else that is random in it.
        Raises IndexError where all addresses have been used.
        """
        address = self._free[family].popleft()
        stack = stack_class((address,), settings, cookies=KeyRing([keys]), seed=seed)
        host = ReferenceHost(stack, self._device.link.send)
        ports = {name: await host.listen(options) for name, options in STANDING.items()}
        sources = [each for each in self._device.neighbours if each.version == family]
        link = HostLink([address], sources, is_local=True)
        self._hosts[address.packed] = host
        return ServedLab(link, host, ports, {family: address})

    def _arrived(self, packet: bytes, _when: float) -> None:
        host = self._hosts.get(packets.destination(packet))
        if host is not None:
            host.receive(packet)
