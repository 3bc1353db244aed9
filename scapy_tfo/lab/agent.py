"""The process inside the target's namespace: it runs the listeners and obeys the suite.

Started by `scapy_tfo.lab.control` as `python -m scapy_tfo.lab.agent FD CONFIG`, FD being one end
of a Unix socket pair and CONFIG a `Config` in JSON. It answers with one line and the TUN device's
descriptor, then with one JSON line for each JSON line it reads. It ends when the other end is
closed, and the kernel kills it when its parent ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import struct
import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence
from ipaddress import ip_interface
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab import interface, namespace
from scapy_tfo.lab.daemon import Daemon
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.listeners import BACKLOG, Listeners
from scapy_tfo.lab.sessions import to_json
from scapy_tfo.wire.tun import open_tun

DEFAULT_SYSCTLS = {
    "net.ipv4.tcp_fastopen": "3",
    "net.core.somaxconn": str(BACKLOG),
    "net.ipv4.tcp_max_syn_backlog": str(BACKLOG),
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.addr_gen_mode": "1",
}
"""What the lab changes of a fresh namespace. The rest is the kernel's own choice."""

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

_SETTLE_TURNS = 8
"""Turns of the loop from a connection in the accept queue to its data in the application."""


class Commands:
    """What the suite can ask for; each takes and gives plain JSON values."""

    def __init__(self) -> None:
        self._listeners = Listeners()
        self._daemons: list[Daemon] = []
        self._netstat = os.open("/proc/net/netstat", os.O_RDONLY | os.O_CLOEXEC)

    async def listen(self, app: str, queue: int, keys: Sequence[str]) -> int:
        return await self._listeners.open(ListenerOptions(app, queue, _keys(keys)))

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

    async def serve(self, argv: Sequence[str], files: Mapping[str, str], port: int) -> None:
        contents = {name: b64decode(content) for name, content in files.items()}
        daemon = Daemon.start(argv, contents)
        self._daemons.append(daemon)
        await daemon.listening(port)

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


def prepare(config: dict[str, Any]) -> int:
    """Enter the namespace, make it ready and return the TUN device's descriptor.

    Raises SetupError, OSError.
    """
    namespace.enter_namespace()
    namespace.die_with_parent(config["parent"])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    key = os.urandom(16)
    namespace.write_sysctls(DEFAULT_SYSCTLS, required=True)
    namespace.write_sysctls({"net.ipv4.tcp_fastopen_key": format_keys([key])}, required=True)
    namespace.write_sysctls(UNLIMITED_SYSCTLS, required=False)
    namespace.write_sysctls(config["sysctls"], required=True)
    interface.bring_up("lo")
    tun, name = open_tun("tfo0")
    interface.bring_up(name, mtu=config["mtu"])
    for address in config["addresses"]:
        interface.add_address(name, ip_interface(address))
    return tun


async def obey(control: socket.socket) -> None:
    """Answer requests until the other end is closed."""
    commands = Commands()
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
    try:
        tun = prepare(json.loads(sys.argv[2]))
    except (SetupError, OSError) as error:
        control.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    socket.send_fds(control, [b"{}\n"], [tun])
    os.close(tun)
    asyncio.run(obey(control))
    # Connections may still be open by the thousand; the kernel closes them faster.
    os._exit(0)


if __name__ == "__main__":
    main()
