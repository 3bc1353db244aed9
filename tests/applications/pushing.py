"""pushing.py PORT: sends without reading until nothing more is taken; then all comes back, and the
end after ours. Exits with what is wrong."""

from __future__ import annotations

import select
import socket
import sys

MOST = 256 << 20
"""Bytes: more than the buffers of both ends hold."""
BLOCKED = 1.0
"""Seconds without room in the send buffer, behind which the echo has stopped reading."""


def main(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setblocking(False)
        piece = bytes(range(251)) * 256
        sent = 0
        while select.select([], [connection], [], BLOCKED)[1]:
            sent += connection.send(piece[sent % 251 :])
            if sent > MOST:
                sys.exit("no back pressure: it reads on, and keeps or drops what it read")
        connection.setblocking(True)
        connection.settimeout(30)
        connection.shutdown(socket.SHUT_WR)
        came = bytearray()
        while data := connection.recv(1 << 20):
            came += data
        if bytes(came) != (piece * (sent // len(piece) + 1))[:sent]:
            sys.exit(f"{sent} bytes sent, and {len(came)} came back, or others")


if __name__ == "__main__":
    main(int(sys.argv[1]))
