"""The namespace in which a client runs, and our addresses that it can reach from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.client_network import MOST_SERVERS, MTU, SERVERS, ClientNetwork
from scapy_tfo.lab.memory.device import open_device, parse_place
from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Link
from scapy_tfo.wire.links.tun import TunLink

_NEIGHBOURS = 1
_KEPT = 8
"""Addresses of a network that are no server's: the kernel's own, and what IPv4 keeps for itself."""


class Place(Protocol):
    """link: by which the client's packets come. servers: addresses of ours, by family. enter: what
    a child calls between fork and exec to get there, None where it is there already. is_fresh:
    nobody there can have heard of the servers before."""

    link: Link
    servers: dict[int, Sequence[Address]]
    enter: Callable[[], None] | None
    is_fresh: bool

    def counters(self) -> dict[str, int]:
        """What the client's kernel counted of fast opens, by TcpExt names; nothing where others
        use it as well."""
        ...

    def close(self) -> None:
        """Give it back; harmless when called twice."""
        ...


class Namespace:
    """A network namespace of its own. Raises SetupError where the host does not allow it.

    mtu: of its device, in bytes; None for the usual one.
    """

    is_fresh = True

    def __init__(self, mtu: int | None = None) -> None:
        self._network = ClientNetwork(mtu=mtu or MTU)
        self.servers: dict[int, Sequence[Address]] = {
            each: [SERVERS[each] + at for at in range(MOST_SERVERS)]
            for each in self._network.families
        }
        ours = [address for each in self.servers.values() for address in each]
        self.link: Link = TunLink(self._network.tun, ours, mtu or MTU)
        self.enter: Callable[[], None] | None = self._network.entering()

    def counters(self) -> dict[str, int]:
        return self._network.counters()

    def close(self) -> None:
        self.link.close()
        self._network.close()


class Here:
    """The network namespace that we are in, from where other hosts may be let in as well.

    texts: our first server, as `ADDRESS[/PREFIX]`, one of each family at most; the others are the
    next ones of its network. Must not be called from a running asyncio loop. Raises SetupError
    where a network is in use here, has no room, or the host does not allow a TUN device.
    """

    enter: Callable[[], None] | None = None
    is_fresh = False

    def __init__(self, texts: Sequence[str]) -> None:
        places = [parse_place(each) for each in texts]
        room = min(
            (
                place.network.num_addresses - int(place.ip) + int(place.network.network_address)
                for place in places
            ),
            default=0,
        )
        hosts = min(room - _KEPT, MOST_SERVERS)
        if hosts < 1:
            raise SetupError(
                "--address has no room for the servers: give a larger network, such as /20"
            )
        device = open_device(places, hosts=hosts, neighbours=_NEIGHBOURS)
        self.link: Link = device.link
        self.servers: dict[int, Sequence[Address]] = {
            place.version: [place.ip + at for at in range(hosts)] for place in places
        }

    def counters(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        self.link.close()
