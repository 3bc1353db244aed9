"""The ends of the path: namespaces with a kernel's client and servers, and mutants in memory."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo.address import known_address
from scapy_tfo.cookie import KeyRing
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.control import Agent
from scapy_tfo.lab.hooks import Hooks, ListenerOptions
from scapy_tfo.lab.host import ReferenceHost
from scapy_tfo.lab.linux import MTU, LinuxHooks, host_families
from scapy_tfo.mutants.registry import named
from scapy_tfo.segment import Address
from scapy_tfo.wire.tun import TunLink

NETWORKS = {4: "198.18.{}.{}", 6: "fd00:7413::{:x}:{:x}"}
"""By family: of the host, and of its place there."""

PREFIXES = {4: 16, 6: 64}
LOCAL = {4: "198.18.{}.0/24", 6: "fd00:7413::{:x}:0/112"}
"""All places of one host."""

CLIENT = 100

KEY, NEXT_KEY = bytes(range(16)), bytes(range(16, 32))

KERNELS = {"kernel": "3", "cookieless": "0x203"}
"""Servers that are kernels, and their sysctl tcp_fastopen."""

CLOSED_PORT = 9
_ADD_LOCAL = ("route", "add", "local")

_PCAP_HEAD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 16, 101)


class Tap:
    """IP packets and the time they passed, for a pcap file."""

    def __init__(self) -> None:
        self._records = [_PCAP_HEAD]

    def __call__(self, packet: bytes) -> None:
        seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        size = len(packet)
        self._records += struct.pack("<IIII", seconds, nanoseconds, size, size), packet

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self._records))
        return path


@dataclass
class Server:
    """One server, with an address for each conversation: Linux remembers few clients' cookies for
    one address, and nothing of another.

    send: hands it a packet. answer: called with each that it sends; to be set before the first
    one comes. listeners: the ports of all, of which the standing ones have a name.
    """

    number: int
    hooks: Hooks
    send: Callable[[bytes], None]
    answer: Callable[[bytes], None] = lambda _packet: None
    tap: Tap = field(default_factory=Tap)
    by_name: dict[str, int] = field(default_factory=dict)
    listeners: list[int] = field(default_factory=list)

    def address(self, family: int, place: int) -> str:
        return str(ip_address(NETWORKS[family].format(self.number, place)))

    async def listener(self, name: str) -> int:
        """The listener of that name: `echo`, `plain` (fast open off), `rotated` (each time one of
        its own, because its key changes), `closed`."""
        if name == "closed":
            return CLOSED_PORT
        if name not in self.by_name or name == "rotated":
            options = {"queue": 0} if name == "plain" else {"keys": (KEY,)}
            self.by_name[name] = await self.hooks.listen(ListenerOptions("echo", **options))
            self.listeners.append(self.by_name[name])
        return self.by_name[name]


async def kernel_client(stack: ExitStack, servers: int, places: int) -> tuple[Agent, TunLink]:
    """A namespace for the client, and the way of its packets to so many servers."""
    agent = await _namespace(stack, CLIENT, "1")
    hosts = [(host, place) for host in range(1, servers + 1) for place in range(1, places + 1)]
    return agent, _link(stack, agent, hosts)


async def server(stack: ExitStack, name: str, number: int, places: int) -> Server:
    """A kernel of `KERNELS` or a mutant, with so many addresses."""
    if name not in KERNELS:
        return _mutant(stack, name, number, places)
    agent = await _namespace(stack, number, KERNELS[name])
    for family in host_families():
        local = LOCAL[family].format(number)
        said = await agent.ask("run", ["ip", f"-{family}", *_ADD_LOCAL, local, "dev", "lo"])
        if said["status"]:
            raise SetupError(f"no route to {local}: {said['errors'].strip()}")
    link = _link(stack, agent, [(CLIENT, 1)])
    made = Server(number, LinuxHooks(agent), link.send)
    link.start(lambda packet, _when: made.answer(packet))
    return made


def _mutant(stack: ExitStack, name: str, number: int, places: int) -> Server:
    how = named(name)
    hosts = [(number, place) for place in range(1, places + 1)]
    wrong = how.stack(_addresses(hosts), how.settings, cookies=KeyRing([KEY]), seed=number)
    host = ReferenceHost(wrong, lambda packet: made.answer(packet))
    stack.callback(host.close)
    made = Server(number, host, host.receive)
    return made


async def _namespace(stack: ExitStack, number: int, fast_open: str) -> Agent:
    families = host_families()
    own = [f"{NETWORKS[each].format(number, 1)}/{PREFIXES[each]}" for each in families]
    agent = await Agent.start(
        {
            "sysctls": {"net.ipv4.tcp_fastopen": fast_open},
            "mtu": MTU,
            "tun": True,
            "families": families,
            "addresses": own,
        }
    )
    stack.callback(agent.close)
    return agent


def _link(stack: ExitStack, agent: Agent, hosts: Sequence[tuple[int, int]]) -> TunLink:
    """The way to a namespace, for packets to these hosts."""
    link = TunLink(agent.descriptor, _addresses(hosts), MTU)
    stack.callback(link.close)
    return link


def _addresses(hosts: Sequence[tuple[int, int]]) -> list[Address]:
    return [
        known_address(ip_address(network.format(*each)).packed)
        for network in NETWORKS.values()
        for each in hosts
    ]
