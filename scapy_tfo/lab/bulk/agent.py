"""The process inside a campaign's namespace: sets it up for many connections, then echoes.

Started by `scapy_tfo.lab.bulk.target` as `python -m scapy_tfo.lab.bulk.agent FD CONFIG`. It answers
with one JSON line and three descriptors: the TUN device's, /proc/net/netstat and /proc/net/dev of
its namespace, which can be read from then on without asking the process. It ends when the other end
of FD is closed, and the kernel kills it when its parent ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import socket
import struct
import sys
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.bulk.echo import BACKLOG, Echo
from scapy_tfo.lab.kernel import agent

BULK_SYSCTLS = {
    "net.core.somaxconn": str(BACKLOG),
    "net.ipv4.tcp_max_syn_backlog": str(BACKLOG),
    "net.ipv4.tcp_syncookies": "0",
    "net.ipv4.tcp_abort_on_overflow": "0",
    "net.ipv4.tcp_orphan_retries": "3",
    "net.ipv4.tcp_fin_timeout": "5",
}
"""What a campaign needs besides the lab's usual settings.

SYN cookies leave fast open out, so they must not step in, however many are half open. What a
program leaves behind is forgotten within seconds.
"""

_SIOCGIFTXQLEN = 0x8942
_DESCRIPTORS = 1 << 20


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    try:
        descriptor = _prepare(config)
        echo = Echo(control, config["families"])
        greeting = {"ports": echo.ports, "queue": _queue()}
        watched = [os.open(f"/proc/net/{name}", os.O_RDONLY) for name in ("netstat", "dev")]
    except (SetupError, OSError) as error:
        said = f"the lab cannot be set up: {error}"
        control.sendall(json.dumps({"error": said}).encode() + b"\n")
        return
    socket.send_fds(control, [json.dumps(greeting).encode() + b"\n"], [descriptor, *watched])
    for fd in (descriptor, *watched):
        os.close(fd)
    echo.serve()


def _prepare(config: dict[str, Any]) -> int:
    """Enter the namespace, make its interface, and return the TUN descriptor.

    Raises SetupError, OSError.
    """
    with contextlib.suppress(OSError, ValueError):
        most = min(_DESCRIPTORS, int(Path("/proc/sys/fs/nr_open").read_text()))
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    agent.prepare({**config, "sysctls": {**BULK_SYSCTLS, **config["sysctls"]}})
    return agent.connect_tun(config)


def _queue() -> int:
    """Packets that the device holds until they are read."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("16si20x", agent.DEVICE.encode(), 0)
        reply = fcntl.ioctl(asked, _SIOCGIFTXQLEN, request)
    found: int = struct.unpack_from("16si", reply)[1]
    return found


if __name__ == "__main__":
    main()
