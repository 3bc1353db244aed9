"""Echo servers on PyTCP, a TCP/IP stack in Python: echo.py TAP

On an existing TAP device, with the addresses 10.77.0.2 and fd77::2: ports 7 and 8 with fast open
(1000 may be pending), 9 with room for 4, 10 without fast open. Prints "TGT READY" when all of them
listen.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from pmd_net_addr import Ip4IfAddr, Ip6IfAddr, MacAddress
from pmd_pytcp import socket, stack

PORTS = {7: 1000, 8: 1000, 9: 4, 10: 0}
"""Port -> limit of pending fast opens; 0 leaves fast open off."""

ADDRESS = "fd77::2"
BACKLOG = 512

AT_ONCE = {
    "arp.probe_num": 1,
    "arp.probe_wait": 1,
    "arp.probe_min": 1,
    "arp.probe_max": 2,
    "arp.announce_num": 1,
    "arp.announce_wait": 1,
    "icmp6.default.dad_transmits": 0,
}
"""Nobody else is on the wire: looking for one with the same address is as short as it may be."""


async def echo(connection: Any) -> None:
    """Send back what comes, and close when the client has closed."""
    try:
        while data := await connection.recv(65535):
            while data:
                data = data[await connection.send(data) :]
    except Exception as error:
        print("a connection ended:", repr(error), file=sys.stderr)
    try:
        connection.close()
    except Exception as error:
        print("a connection was not closed:", repr(error), file=sys.stderr)


async def serve(family: Any, port: int, limit: int) -> None:
    listener = socket.socket(family, socket.SOCK_STREAM)
    if limit:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, limit)
    listener.bind(("0.0.0.0" if family == socket.AF_INET else "::", port))
    listener.listen(backlog=BACKLOG)
    under_way = set()
    while True:
        connection, _ = await listener.accept()
        task = asyncio.ensure_future(echo(connection))
        under_way.add(task)
        task.add_done_callback(under_way.discard)


async def main(device: str) -> None:
    stack.LOG__CHANNEL = set()
    stack.init(sysctls=AT_ONCE)
    interface = stack.initialize_interface__tap(
        interface_name=device, mac_address=MacAddress("02:00:00:77:00:02")
    )
    stack.add_interface(
        **interface,
        ip4_support=True,
        ip4_host=Ip4IfAddr("10.77.0.2/24"),
        ip4_dhcp=False,
        ip6_support=True,
        ip6_host=Ip6IfAddr(f"{ADDRESS}/64"),
        ip6_gua_autoconfig=False,
    )
    await stack.start()
    servers = [
        asyncio.ensure_future(serve(family, port, limit))
        for port, limit in PORTS.items()
        for family in (socket.AF_INET, socket.AF_INET6)
    ]
    while not (stack.local_ip4_unicast() and ADDRESS in map(str, stack.local_ip6_unicast())):
        await asyncio.sleep(0.05)
    print("TGT READY", flush=True)
    await asyncio.gather(*servers)


asyncio.run(main(sys.argv[1]))
