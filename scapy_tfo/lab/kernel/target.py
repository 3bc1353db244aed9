"""The running kernel as a target, in a network namespace that nobody else can reach."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from ipaddress import IPv4Interface, IPv6Interface
from pathlib import Path
from types import TracebackType
from typing import Self

from scapy_tfo.lab.hooks import ListenerOptions, Session
from scapy_tfo.lab.process.control import Agent
from scapy_tfo.lab.sessions import from_json
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.tun import TunLink

MTU = 1500

GIVES_UP_AFTER = 26.0
"""Seconds for which data is sent again without an answer: tcp_retries2 as the agent sets it."""

TARGETS: dict[int, IPv4Interface | IPv6Interface] = {
    4: IPv4Interface("192.0.2.1/24"),
    6: IPv6Interface("fd00:7413::1/64"),
}
"""The target's address and network, by family."""

SOURCES: dict[int, tuple[Address, ...]] = {
    family: tuple(target.ip + 15 + number for number in range(6))
    for family, target in TARGETS.items()
}
"""What the suite sends from, in the target's own networks: two addresses for each attempt."""

STANDING = {
    "echo": ListenerOptions("echo", queue=8192),
    "second": ListenerOptions("echo", queue=8192),
    "small": ListenerOptions("echo", queue=4),
    "plain": ListenerOptions("echo", queue=0),
    "http": ListenerOptions("http", queue=8192),
}
"""Listeners that are there from the start, by name."""


def host_families() -> tuple[int, ...]:
    """The families that this kernel speaks: 4, and 6 unless it was started without."""
    return (4, 6) if Path("/proc/sys/net/ipv6").exists() else (4,)


class Counters:
    """What can be asked of any target in a namespace."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def counters(self) -> dict[str, int]:
        """The fast open counters of the target's namespace, by their TcpExt names.

        Raises TargetError when the target is gone.
        """
        found: dict[str, int] = await self._agent.ask("counters")
        return found


class LinuxHooks(Counters):
    """`Hooks` of a Linux target. Every method raises TargetError when the target is gone, and
    ValueError for what its agent or its kernel refuses."""

    async def listen(self, options: ListenerOptions) -> int:
        """Open a listener and return its port."""
        port: int = await self._agent.ask(
            "listen", options.app, options.queue, _plain(options.keys), options.backlog
        )
        return port

    async def close_listener(self, port: int) -> None:
        """Close a listener; its accepted connections go on."""
        await self._agent.ask("close_listener", port)

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        """Replace a listener's cookie keys (setsockopt TCP_FASTOPEN_KEY), primary first."""
        await self._agent.ask("set_keys", port, _plain(keys))

    async def set_host_keys(self, keys: Sequence[bytes]) -> None:
        """Replace the keys of every listener without its own (sysctl tcp_fastopen_key)."""
        await self._agent.ask("set_host_keys", _plain(keys))

    async def sessions(self, port: int) -> list[Session]:
        """Every connection accepted on a port so far, oldest first (the newest 4096)."""
        return [from_json(each) for each in await self._agent.ask("sessions", port)]

    async def settle(self, port: int, peers: Collection[tuple[str, int]]) -> list[Session]:
        """See `Settling`."""
        return [from_json(each) for each in await self._agent.ask("settle", port, list(peers))]


class NamespaceLab:
    """The running kernel in a namespace, ready to be probed.

    link: the way to it, with nothing between. addresses: the target's, by family (4, and 6
    where the host has it).
    descriptor: of what the link reads, for who carries the packets instead. ports: its listeners by
    name. device: what the link goes through, "tun" or, where the host
    lets nobody open /dev/net/tun, "veth".
    """

    def __init__(self, agent: Agent) -> None:
        families = host_families()
        sources = [source for family in families for source in SOURCES[family]]
        self.link = TunLink(agent.descriptor, sources, MTU)
        self.addresses: dict[int, Address] = {each: TARGETS[each].ip for each in families}
        self.ports: dict[str, int] = {}
        self.device = agent.device
        self.descriptor = agent.descriptor
        self._agent = agent

    def close(self) -> None:
        """End the target and everything in it. Harmless when called twice."""
        self.link.close()
        self._agent.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LinuxLab(NamespaceLab):
    """The running kernel as a target, with the listeners of `STANDING` and all hooks."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self.hooks = LinuxHooks(agent)

    @classmethod
    async def start(cls, *, sysctls: Mapping[str, str] | None = None, tun: bool = True) -> LinuxLab:
        """Start a target; `sysctls` (dotted name to value) are written in its namespace first.

        tun: False takes the way for hosts without /dev/net/tun in any case.
        The thread that calls must live as long as the lab: the kernel ends the target with it.
        Raises SetupError where the host does not allow namespaces or TUN, or has no such sysctl.
        """
        lab = cls(await start_agent(sysctls, tun=tun))
        try:
            for name, options in STANDING.items():
                lab.ports[name] = await lab.hooks.listen(options)
        except BaseException:
            lab.close()
            raise
        return lab


async def start_agent(sysctls: Mapping[str, str] | None, *, tun: bool = True) -> Agent:
    """Start the process that holds the target's namespace. Raises SetupError."""
    families = host_families()
    return await Agent.start(
        {
            "sysctls": dict(sysctls or {}),
            "mtu": MTU,
            "tun": tun,
            "families": families,
            "addresses": [str(TARGETS[each]) for each in families],
        }
    )


def _plain(keys: Sequence[bytes]) -> list[str]:
    return [b64encode(key).decode() for key in keys]
