"""The ends of the path: namespaces with a kernel's client and servers, and mutants in memory."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.hooks import Hooks, ListenerOptions
from scapy_tfo.lab.kernel.target import LinuxHooks
from scapy_tfo.lab.links import two_ends
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.process.control import Agent
from scapy_tfo.mutants.registry import named
from scapy_tfo.wire.links.tun import TunLink

CLIENT = 100

KEY, NEXT_KEY = bytes(range(16)), bytes(range(16, 32))

KERNELS = {"kernel": "3", "cookieless": "0x203"}
"""Servers that are kernels, and their sysctl tcp_fastopen."""

CLOSED_PORT = 9
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
        return str(two_ends.address(family, self.number, place))

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
    agent = await two_ends.namespace(stack, CLIENT, "1")
    hosts = [(host, place) for host in range(1, servers + 1) for place in range(1, places + 1)]
    return agent, two_ends.link_to(stack, agent, two_ends.addresses(hosts))


async def server(stack: ExitStack, name: str, number: int, places: int) -> Server:
    """A kernel of `KERNELS` or a mutant, with so many addresses."""
    if name not in KERNELS:
        return _mutant(stack, name, number, places)
    agent = await two_ends.namespace(stack, number, KERNELS[name], everywhere=True)
    link = two_ends.link_to(stack, agent, two_ends.addresses([(CLIENT, 1)]))
    made = Server(number, LinuxHooks(agent), link.send)
    link.start(lambda packet, _when: made.answer(packet))
    return made


def _mutant(stack: ExitStack, name: str, number: int, places: int) -> Server:
    how = named(name)
    own = two_ends.addresses([(number, place) for place in range(1, places + 1)])
    wrong = how.stack(own, how.settings, cookies=KeyRing([KEY]), seed=number)
    host = ReferenceHost(wrong, lambda packet: made.answer(packet))
    stack.callback(host.close)
    made = Server(number, host, host.receive)
    return made
