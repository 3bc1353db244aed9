"""Two hosts, each in its own namespace, and the path between them, which this process carries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from ipaddress import ip_address

from scapy_tfo.address import known_address
from scapy_tfo.lab.kernel.target import MTU, host_families
from scapy_tfo.lab.links.boxed import BoxedPath
from scapy_tfo.lab.process.control import Agent
from scapy_tfo.middleboxes.box import Box
from scapy_tfo.segment import Address
from scapy_tfo.wire import ip_header
from scapy_tfo.wire.links.tun import TunLink

NETWORKS = {4: "198.18.{}.{}", 6: "fd00:7413::{:x}:{:x}"}
"""By family: of the host, and of its place there."""

PREFIXES = {4: 16, 6: 64}
LOCAL = {4: "198.18.{}.0/24", 6: "fd00:7413::{:x}:0/112"}
"""All places of one host."""


def address(family: int, number: int, place: int) -> Address:
    """Of a host at one of its places."""
    return known_address(ip_address(NETWORKS[family].format(number, place)).packed)


def addresses(hosts: Iterable[tuple[int, int]]) -> list[Address]:
    """Of both families, for hosts and their places."""
    return [address(family, *each) for family in NETWORKS for each in list(hosts)]


async def namespace(
    stack: ExitStack, number: int, fast_open: str, *, everywhere: bool = False
) -> Agent:
    """A host whose only interface leads to us; `stack` ends it. fast_open: its sysctl. everywhere:
    all its places are its own, not only the first.

    Raises SetupError where this host does not allow it.
    """
    families = host_families()
    own = [f"{NETWORKS[each].format(number, 1)}/{PREFIXES[each]}" for each in families]
    agent = await Agent.start(
        {
            "sysctls": {"net.ipv4.tcp_fastopen": fast_open},
            "mtu": MTU,
            "tun": True,
            "families": families,
            "addresses": own,
            "networks": [LOCAL[each].format(number) for each in families if everywhere],
        }
    )
    stack.callback(agent.close)
    return agent


def link_to(stack: ExitStack, agent: Agent, others: Sequence[Address]) -> TunLink:
    """The way to a host; what it sends to these others comes out there. `stack` closes it."""
    link = TunLink(agent.descriptor, others, MTU)
    stack.callback(link.close)
    return link


class Crossing:
    """Joins two links by paths with middleboxes: one for each address of the server's.

    boxes: by that address, from the client on; for other addresses nothing passes.
    delay: seconds, in each direction.
    """

    def __init__(
        self,
        client: TunLink,
        server: TunLink,
        boxes: Mapping[Address, Sequence[Box]],
        delay: float = 0.0,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._delay = delay
        self._paths = {
            each.packed: BoxedPath(those, client.send, server.send) for each, those in boxes.items()
        }
        client.start(lambda packet, _when: self._take(packet, onward=True))
        server.start(lambda packet, _when: self._take(packet, onward=False))

    def _take(self, packet: bytes, *, onward: bool) -> None:
        path = self._paths.get((ip_header.destination if onward else ip_header.source)(packet))
        if path is not None:
            enter = path.from_client if onward else path.from_server
            self._loop.call_later(self._delay, enter, packet)

    def close(self) -> None:
        """What is under way is lost."""
        for each in self._paths.values():
            each.close()
