"""The process inside the target's namespace, which runs the listeners as the suite commands.

Started by `scapy_tfo.lab.process.control` as `python -m scapy_tfo.lab.kernel.agent FD CONFIG`, FD
being one end of a Unix socket pair and CONFIG a `Config` in JSON. It answers with one line and the
TUN device's descriptor, then with one JSON line for each JSON line it reads. It ends when the other
end is closed, and the kernel kills it when its parent ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import struct
import sys
import zlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Interface, ip_interface, ip_network
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import BACKLOG, ListenerOptions
from scapy_tfo.lab.kernel import interface
from scapy_tfo.lab.kernel.command import LIMIT, run_to_end
from scapy_tfo.lab.kernel.daemon import Daemon
from scapy_tfo.lab.kernel.listeners import Listeners
from scapy_tfo.lab.kernel.relay import Relay, add_veth
from scapy_tfo.lab.process import namespace
from scapy_tfo.lab.sessions import to_json
from scapy_tfo.wire.links.tun import open_tun

DEVICE, PEER = "tfo0", "tfo1"
"""The target's interface, and the other end of it where that is a veth pair."""

DEFAULT_SYSCTLS = {
    "net.ipv4.tcp_fastopen": "3",
    "net.core.somaxconn": str(BACKLOG),
    "net.ipv4.tcp_max_syn_backlog": str(BACKLOG),
    "net.ipv4.tcp_synack_retries": "3",
    "net.ipv4.tcp_retries2": "6",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
}
"""What the lab changes of a fresh namespace. The rest is the kernel's own choice.

The two counts of retries make Linux give up in half a minute, where cases wait for that:
a SYN-ACK after 31 s, data after 25 s, at its shortest timeout of 0.2 s. No round-trip time is
remembered from one case for the next.
"""

IPV6_SYSCTLS = {
    "net.ipv6.conf.default.disable_ipv6": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.addr_gen_mode": "1",
}
"""The same, for a kernel with IPv6: nothing is sent that the suite did not ask for."""

UNLIMITED_SYSCTLS = {
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv4.icmp_msgs_per_sec": "1000000",
    "net.ipv4.icmp_msgs_burst": "1000000",
    "net.ipv6.icmp.ratelimit": "0",
    "net.ipv4.tcp_invalid_ratelimit": "0",
    "net.ipv4.tcp_challenge_ack_limit": "2147483647",
}
"""Limits of rate that would make cases that run side by side disturb each other.

Some are the whole host's in older kernels, and stay there as they are.
"""

_TUN_FOR_ALL = "modprobe tun and chmod 0666 /dev/net/tun, or in a container --device /dev/net/tun"
"""What lets others than root have TUN devices in namespaces of theirs."""

_SETTLE_TURNS = 10
"""Turns of the loop from a packet in the relay to its data in the application."""


class Commands:
    """What the suite can ask for; each takes and gives plain JSON values."""

    def __init__(self, families: Sequence[int]) -> None:
        self._families = families
        self._listeners = Listeners(families)
        self._daemons: list[Daemon] = []
        self._netstat = os.open("/proc/net/netstat", os.O_RDONLY | os.O_CLOEXEC)

    async def listen(self, app: str, queue: int, keys: Sequence[str], backlog: int) -> int:
        return await self._listeners.open(ListenerOptions(app, queue, _keys(keys), backlog))

    async def close_listener(self, port: int) -> None:
        self._listeners.close(port)

    async def set_keys(self, port: int, keys: Sequence[str]) -> None:
        self._listeners.set_keys(port, _keys(keys))

    async def set_host_keys(self, keys: Sequence[str]) -> None:
        namespace.write_sysctls(
            {"net.ipv4.tcp_fastopen_key": format_keys(_keys(keys))}, required=True
        )

    async def sessions(self, port: int) -> list[dict[str, Any]]:
        # What the kernel has already put in its queues counts as seen by the application.
        for _ in range(_SETTLE_TURNS):
            await asyncio.sleep(0)
        return [to_json(each) for each in self._listeners.sessions(port)]

    async def settle(self, port: int, peers: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        for _ in range(_SETTLE_TURNS):
            await asyncio.sleep(0)
        wanted = {(str(host), int(number)) for host, number in peers}
        return [to_json(each) for each in self._listeners.settle(port, wanted)]

    async def serve(self, argv: Sequence[str], files: Mapping[str, str], port: int) -> int:
        contents = {name: zlib.decompress(b64decode(each)) for name, each in files.items()}
        daemon = Daemon.start(argv, contents)
        self._daemons.append(daemon)
        await daemon.listening(port, self._families)
        return daemon.pid

    async def run(self, argv: Sequence[str], limit: float = LIMIT) -> dict[str, Any]:
        return await run_to_end(argv, limit)

    async def counters(self) -> dict[str, int]:
        return parse_netstat(os.pread(self._netstat, 1 << 16, 0).decode())

    def end(self) -> None:
        """End what was started."""
        for daemon in self._daemons:
            daemon.stop()


def parse_netstat(text: str) -> dict[str, int]:
    """The fast open counters of /proc/net/netstat: pairs of lines, names and then values."""
    lines = text.splitlines()
    found = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names.startswith("TcpExt:"):
            pairs = zip(names.split()[1:], values.split()[1:], strict=True)
            found = {name: int(value) for name, value in pairs if "FastOpen" in name}
    return found


def format_keys(keys: Sequence[bytes]) -> str:
    """Keys as `net.ipv4.tcp_fastopen_key` writes them: four little-endian words in hex each."""
    return ",".join("-".join(f"{word:08x}" for word in struct.unpack("<4I", key)) for key in keys)


def _keys(keys: Sequence[str]) -> list[bytes]:
    return [b64decode(key) for key in keys]


def prepare(config: dict[str, Any]) -> None:
    """Enter the namespace and write its settings. Raises SetupError, OSError."""
    namespace.enter_namespace()
    namespace.die_with_parent(config["parent"])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    key = os.urandom(16)
    namespace.write_sysctls(DEFAULT_SYSCTLS, required=True)
    if 6 in config["families"]:
        namespace.write_sysctls(IPV6_SYSCTLS, required=True)
    namespace.write_sysctls({"net.ipv4.tcp_fastopen_key": format_keys([key])}, required=True)
    namespace.write_sysctls(UNLIMITED_SYSCTLS, required=False)
    namespace.write_sysctls(config["sysctls"], required=True)


def connect(config: dict[str, Any]) -> tuple[int, Relay | None]:
    """Make the target's interface: the suite's descriptor, and the relay where there is no TUN.

    Raises SetupError, OSError.
    """
    interface.bring_up("lo")
    relay = None
    try:
        if not config["tun"]:
            raise SetupError("no TUN device wanted")
        descriptor, _ = open_tun(DEVICE)
        interface.bring_up(DEVICE, mtu=config["mtu"])
    except SetupError as error:
        try:
            relay = _connect_veth(config["mtu"])
        except OSError as other:
            raise SetupError(
                f"{error}, and cannot make a veth pair ({other.strerror}): {_TUN_FOR_ALL}"
            ) from None
        descriptor = relay.far.detach()
    _add_addresses(config["addresses"])
    for network in config.get("networks", ()):
        interface.take_network(ip_network(network))
    return descriptor, relay


def connect_tun(config: dict[str, Any]) -> int:
    """Make the interface of what needs a TUN device, and return its descriptor.

    Raises SetupError, OSError.
    """
    interface.bring_up("lo")
    try:
        descriptor, _ = open_tun(DEVICE)
    except SetupError as error:
        raise SetupError(f"{error}: run as root, or {_TUN_FOR_ALL}") from None
    interface.bring_up(DEVICE, mtu=config["mtu"])
    _add_addresses(config["addresses"])
    return descriptor


def _add_addresses(places: Sequence[str]) -> None:
    """Give the target's interface its addresses, each with its network. Raises OSError."""
    addresses = [ip_interface(each) for each in places]
    for address in addresses:
        interface.add_address(DEVICE, address)
    for address in addresses:
        if isinstance(address, IPv6Interface):
            interface.await_local(address.ip)


def _connect_veth(mtu: int) -> Relay:
    add_veth(DEVICE, PEER)
    for name in (PEER, DEVICE):
        interface.bring_up(name, mtu=mtu)
    for name in (PEER, DEVICE):
        interface.await_running(name)
    return Relay(DEVICE, PEER)


async def obey(control: socket.socket, families: Sequence[int], relay: Relay | None) -> None:
    """Answer requests until the other end is closed. families: 4, 6 or both."""
    if relay is not None:
        relay.start()
    commands = Commands(families)
    reader, writer = await asyncio.open_unix_connection(sock=control, limit=1 << 20)
    while line := await reader.readline():
        request = json.loads(line)
        reply: dict[str, Any] = {"id": request["id"]}
        try:
            reply["value"] = await getattr(commands, request["do"])(*request["with"])
        except (OSError, ValueError, SetupError) as error:
            reply["error"] = str(error)
        writer.write(json.dumps(reply).encode() + b"\n")
    commands.end()


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    try:
        prepare(config)
        descriptor, relay = connect(config)
    except (SetupError, OSError) as error:
        said = f"the lab cannot be set up: {error}"
        control.sendall(json.dumps({"error": said}).encode() + b"\n")
        return
    greeting = {"device": "tun" if relay is None else "veth"}
    socket.send_fds(control, [json.dumps(greeting).encode() + b"\n"], [descriptor])
    os.close(descriptor)
    asyncio.run(obey(control, config["families"], relay))
    # Connections may still be open by the thousand; the kernel closes them faster.
    os._exit(0)


if __name__ == "__main__":
    main()
