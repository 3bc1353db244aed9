"""Holds a namespace with listeners, from which the process that started it accepts connections.

Started by `scapy_tfo.gain.kernel_cost` as `python -m scapy_tfo.gain.ends.listening_agent FD
CONFIG`. It answers with one JSON line and the descriptors of the TUN device and of a listener for
each word of `listeners`: "cookie" requires a valid cookie for a fast open, "none" does not. It
ends when the other end of FD is closed, and the kernel kills it when its parent ends.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import BACKLOG
from scapy_tfo.lab.kernel import agent

_TCP_FASTOPEN_NO_COOKIE = 34
"""linux/tcp.h; Python has no name for it."""


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    try:
        agent.prepare(config)
        tun = agent.connect_tun(config)
        listeners = [_listener(kind == "none") for kind in config["listeners"]]
    except (SetupError, OSError) as error:
        said = f"the server's namespace cannot be set up: {error}"
        control.sendall(json.dumps({"error": said}).encode() + b"\n")
        return
    ports = [each.getsockname()[1] for each in listeners]
    given = [tun, *(each.fileno() for each in listeners)]
    socket.send_fds(control, [json.dumps({"ports": ports}).encode() + b"\n"], given)
    os.close(tun)
    control.recv(1)


def _listener(cookieless: bool) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, BACKLOG)
    sock.setsockopt(socket.IPPROTO_TCP, _TCP_FASTOPEN_NO_COOKIE, int(cookieless))
    sock.bind(("", 0))
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


if __name__ == "__main__":
    main()
