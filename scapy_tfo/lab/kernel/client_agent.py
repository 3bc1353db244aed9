"""The process that holds a client's namespace, with one interface, which leads to the suite.

Started by `scapy_tfo.lab.kernel.client_network` as `python -m scapy_tfo.lab.kernel.client_agent FD
CONFIG`. It answers with one JSON line and the descriptors of the TUN device and of
/proc/net/netstat, and ends when the other end of FD is closed; the kernel kills it when its parent
ends.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel import agent


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    try:
        agent.prepare(config)
        descriptor = agent.connect_tun(config)
        netstat = os.open("/proc/net/netstat", os.O_RDONLY)
    except (SetupError, OSError) as error:
        said = f"the client's network cannot be set up: {error}"
        control.sendall(json.dumps({"error": said}).encode() + b"\n")
        return
    socket.send_fds(control, [b"{}\n"], [descriptor, netstat])
    os.close(descriptor)
    control.recv(1)


if __name__ == "__main__":
    main()
