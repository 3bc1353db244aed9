"""A client that does one short transaction after another.

`python closed_loop.py HOST PORT PATH SECONDS WAY [RATE]`; WAY: `tcp` or `tfo`; RATE: so many a
second, without it as many as there can be. Each transaction is a connection, a request and its
whole answer. At the end a line of JSON: transactions, seconds they took, seconds of processor time
of this process, and round-trip times, in seconds, that handshakes with TCP saw.
"""

import json
import socket
import struct
import sys
import time

_LARGEST = 1 << 16
_INFO, _RTT = 104, 68
_LOOK = 16
"""Every so many connections the round-trip time is looked at."""


def round_trip(sock: socket.socket) -> float:
    """Of the handshake of a connection that has just been made, in seconds."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO)
    return float(struct.unpack_from("I", info, _RTT)[0]) / 1e6


def main() -> None:
    host, port, path, seconds, way, *rest = sys.argv[1:]
    gap = 1 / float(rest[0]) if rest else 0.0
    at = (host, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n".encode()
    count = 0
    rtts = []
    spent = time.process_time()
    began = time.perf_counter()
    until = began + float(seconds)
    while not count or time.perf_counter() < until:
        wait = began + count * gap - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            if way == "tfo":
                sock.sendto(request, socket.MSG_FASTOPEN, at)
            else:
                sock.connect(at)
                if count % _LOOK == 0:
                    rtts.append(round_trip(sock))
                sock.send(request)
            while sock.recv(_LARGEST):
                pass
        count += 1
    took = time.perf_counter() - began
    spent = time.process_time() - spent
    print(json.dumps({"count": count, "seconds": took, "cpu": spent, "rtts": rtts}))


if __name__ == "__main__":
    main()
