"""A client that measures: `python fetcher.py ADDRESS PORT NAME PATH TIMES SEED WAY...`.

NAME: for the Host field. WAY: `tcp` (connect, then send), `tfo` (sendto with MSG_FASTOPEN) or
`control` (tcp again, under another name). Blocks of one request each way follow one another, in a
random order within each by SEED, so that a change over time affects all of them. It prints a line
of JSON for each request: way, seconds to the first byte and to the last, bytes, status of the
answer, whether the SYN's data was acknowledged, why not (see `tcp_info` of linux/tcp.h), and the
least round-trip time that the kernel saw, in seconds.
"""

import json
import random
import socket
import struct
import sys
import time

_LARGEST = 1 << 18
_INFO, _OPTIONS, _SYN_DATA = 152, 5, 0x20
_BITS, _MIN_RTT = 7, 148
_PATIENCE = 60.0


def fetch(way: str, at: tuple[str, int], request: bytes) -> dict[str, object]:
    """One request on a connection of its own. Raises OSError."""
    family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        began = time.perf_counter()
        if way == "tfo":
            sock.sendto(request, socket.MSG_FASTOPEN, at)
        else:
            sock.connect(at)
            sock.sendall(request)
        # A time limit before would make the socket one that does not block.
        sock.settimeout(_PATIENCE)
        piece = sock.recv(_LARGEST)
        first = time.perf_counter() - began
        head, size = piece[:12], len(piece)
        while piece := sock.recv(_LARGEST):
            size += len(piece)
        last = time.perf_counter() - began
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO).ljust(_INFO, b"\0")
    return {
        "way": way,
        "first": first,
        "last": last,
        "bytes": size,
        "status": head[9:].decode("latin-1") if head.startswith(b"HTTP/1.") else "",
        "early": bool(info[_OPTIONS] & _SYN_DATA),
        "failed": info[_BITS] >> 1 & 3,
        "rtt": struct.unpack_from("I", info, _MIN_RTT)[0] / 1e6,
    }


def main() -> None:
    host, port, name, path, times, seed, *ways = sys.argv[1:]
    dice = random.Random(int(seed))
    at = (host, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
    if "tfo" in ways:
        fetch("tfo", at, request)
    for _ in range(int(times)):
        dice.shuffle(ways)
        for way in ways:
            print(json.dumps(fetch(way, at, request)), flush=True)


if __name__ == "__main__":
    main()
