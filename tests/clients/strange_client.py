"""Clients that are unlike the ready-made ones, on this host's kernel.

    python strange_client.py WAY HOST PORT [FILE]

short: a whole HTTP request of 18 bytes by MSG_FASTOPEN. quiet: sends FILE, and ends with status 0
whatever happens. stubborn: waits for a minute before it ends where its connection fails. impatient:
asks for the name of its peer before it writes, which a connection that is to be opened fast does
not have yet. plain: sends FILE without fast open. hurried: gives up 1.5 s after its start, as a
resolver does with a query that is too old. sulking: does so after half of that, only where a fast
open of its failed, and waits for other connections. later: writes FILE once it is connected, so
that its SYN has a cookie and no data.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from pathlib import Path

FASTOPEN_CONNECT = 30
"""TCP_FASTOPEN_CONNECT (include/uapi/linux/tcp.h)."""

PATIENCE = 1.5
"""Seconds for which a hurried one waits."""


def connected(way: str, host: str, port: int, text: bytes) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    if way in ("short", "quiet", "stubborn", "hurried", "sulking"):
        sock.sendto(text, socket.MSG_FASTOPEN, (host, port))
        return sock
    if way == "later":
        sock.sendto(b"", socket.MSG_FASTOPEN, (host, port))
        sock.sendall(text)
        return sock
    if way == "impatient":
        sock.setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)
    sock.connect((host, port))
    if way == "impatient":
        sock.getpeername()
    sock.sendall(text)
    return sock


def fast_open_failed(sock: socket.socket) -> bool:
    """Whether the SYN's data was not acknowledged: tcpi_fastopen_client_fail above "no cookie"."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[7] >> 1 & 3 > 1


def main() -> None:
    began = time.monotonic()
    way, host, port, *files = sys.argv[1:]
    text = Path(files[0]).read_bytes() if files else b"GET / HTTP/1.0\r\n\r\n"
    sock = connected(way, host, int(port), text)
    answer = b""
    while piece := sock.recv(65536):
        answer += piece
    waited = time.monotonic() - began
    if way == "hurried" and waited > PATIENCE:
        raise TimeoutError("the answer came too late")
    if way == "sulking" and waited > PATIENCE / 2 and fast_open_failed(sock):
        raise TimeoutError("the answer came too late")
    sys.stdout.buffer.write(answer.partition(b"\r\n\r\n")[2] if way == "short" else answer)


if __name__ == "__main__":
    with contextlib.suppress(OSError) if sys.argv[1] == "quiet" else contextlib.nullcontext():
        try:
            main()
        except OSError:
            time.sleep(60.0 if sys.argv[1] == "stubborn" else 0.0)
            raise
