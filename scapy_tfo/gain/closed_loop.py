"""A client that does one short transaction after another.

`python closed_loop.py HOST PORT PATH WAY SECONDS [GAP PHASE]`; WAY: `tcp` or `tfo`. GAP: seconds
from one to the next, without it none; PHASE: seconds until the first. Each transaction is a
connection, a request and its whole answer. It says that it is ready in a line, takes a line with
the time on CLOCK_MONOTONIC to start at, and at the end prints a line of JSON: transactions, the
time at which the last had ended, seconds of processor time of this process since the start, and
round-trip times, in seconds, that handshakes with TCP saw.
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
    host, port, path, way, span, *pace = sys.argv[1:]
    seconds = float(span)
    gap, phase = map(float, pace or (0, 0))
    at = (host, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n".encode()
    count = 0
    rtts = []
    print("ready", flush=True)
    began = float(sys.stdin.readline())
    time.sleep(max(began - time.monotonic(), 0.0))
    spent = time.process_time()
    now, due = 0.0, phase
    while not count or max(now, due) < seconds:
        if due > now:
            time.sleep(due - now)
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
        due = phase + count * gap
        now = time.monotonic() - began
    spent = time.process_time() - spent
    print(json.dumps({"count": count, "ended": began + now, "cpu": spent, "rtts": rtts}))


if __name__ == "__main__":
    main()
