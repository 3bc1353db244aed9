"""A client that does one short transaction after another.

`python closed_loop.py HOST PORT PATH SECONDS WAY [RATE]`; WAY: `tcp` or `tfo`; RATE: so many a
second, without it as many as there can be. Each transaction is a connection, a request and its
whole answer. At the end a line of JSON: transactions, seconds they took, seconds of processor time
of this process, and the round-trip time in seconds, which a few connections saw before.
"""

import json
import socket
import struct
import sys
import time

_LARGEST = 1 << 16
_INFO, _MIN_RTT = 152, 148
_FEWEST, _MOST, _FOR = 3, 31, 0.03


def round_trip(at: tuple[str, int]) -> float:
    """What the kernel sees in handshakes: the median of a few, in seconds."""
    found: list[float] = []
    until = time.perf_counter() + _FOR
    while len(found) < _FEWEST or (len(found) < _MOST and time.perf_counter() < until):
        with socket.create_connection(at) as sock:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO)
            found.append(struct.unpack_from("I", info.ljust(_INFO, b"\0"), _MIN_RTT)[0] / 1e6)
    return sorted(found)[len(found) // 2]


def main() -> None:
    host, port, path, seconds, way, *rest = sys.argv[1:]
    gap = 1 / float(rest[0]) if rest else 0.0
    at = (host, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n".encode()
    rtt = round_trip(at)
    count = 0
    spent = time.process_time()
    began = time.perf_counter()
    until = began + float(seconds)
    while (now := time.perf_counter()) < until:
        wait = began + count * gap - now
        if wait > 0:
            time.sleep(wait)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            if way == "tfo":
                sock.sendto(request, socket.MSG_FASTOPEN, at)
            else:
                sock.connect(at)
                sock.send(request)
            while sock.recv(_LARGEST):
                pass
        count += 1
    took = time.perf_counter() - began
    spent = time.process_time() - spent
    print(json.dumps({"count": count, "seconds": took, "cpu": spent, "rtt": rtt}))


if __name__ == "__main__":
    main()
