"""The reference server as a process: it answers `/bytes/N` on port 80 of the lab's target address.

Started as `python -m scapy_tfo.gain.ends.reference_server FD CONFIG`. It answers with one JSON line
and a descriptor that gives and takes its IP packets, and ends when the other end of FD is closed;
the kernel kills it when its parent ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import sys

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.hooks import BACKLOG, ListenerOptions
from scapy_tfo.lab.kernel.servers import HTTP_PORT
from scapy_tfo.lab.kernel.target import MTU, TARGETS
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.process.namespace import die_with_parent
from scapy_tfo.lab.process.packet_pair import packet_pair
from scapy_tfo.lab.process.priority import go_first
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.wire.links.tun import TunLink


async def serve(control: socket.socket) -> None:
    """Until the other end of `control` is closed."""
    given, ours = packet_pair()
    address = TARGETS[4].ip
    link = TunLink(ours.detach(), [address], MTU)
    seed = random.SystemRandom().getrandbits(32)
    stack = Stack((address,), Settings(), cookies=KeyRing([os.urandom(16)]), seed=seed)
    host = ReferenceHost.on(link, stack)
    await host.listen(ListenerOptions("http", queue=BACKLOG), HTTP_PORT)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(control, ended.set)
    socket.send_fds(control, [b"{}\n"], [given.fileno()])
    given.close()
    await ended.wait()
    host.close()
    link.close()


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    die_with_parent(json.loads(sys.argv[2])["parent"])
    go_first()
    asyncio.run(serve(control))


if __name__ == "__main__":
    main()
