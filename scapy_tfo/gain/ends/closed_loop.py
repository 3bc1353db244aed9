"""A client that runs one short transaction after another.

`python closed_loop.py HOST PORT PATH SIZE WAY SECONDS EVERY [GAP PHASE]`; SIZE: of the file, in
bytes; WAY: `tcp` or `tfo`. EVERY: one connection in so many is looked up in the kernel, because
that costs time. GAP: seconds from one start to the next, without it none; PHASE: seconds until the
first. Each transaction is a connection, a request and its whole answer. The client prints a line
when it is ready, reads a line with the time on CLOCK_MONOTONIC to start at, and at the end prints a
line of JSON: transactions, the time at which the last had ended, seconds of processor time of this
process since the start, round-trip times, in seconds, that handshakes with TCP saw, and for fast
opens whether the SYN's data was acknowledged. If an answer is not the file, it ends with a message.
"""

import json
import os
import socket
import struct
import sys
import time

_LARGEST = 1 << 16
_INFO, _RTT = 104, 68
_OPTIONS, _SYN_DATA = 5, 0x20
"""tcpi_options and TCPI_OPT_SYN_DATA (linux/tcp.h)."""


def kernel_told(sock: socket.socket) -> bytes:
    """`tcp_info` of linux/tcp.h."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO)


def take_first(sock: socket.socket, size: int) -> int:
    """The whole answer, which has to be the file; returns its bytes with the head. Raises
    SystemExit."""
    answer = b""
    while piece := sock.recv(_LARGEST):
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n")[0].decode("latin-1")
    if status.split(" ")[1:2] != ["200"] or len(body) != size:
        raise SystemExit(f"the answer is '{status}' and {len(body)} bytes, not 200 and {size}")
    return len(answer)


def take(sock: socket.socket, whole: int) -> None:
    """An answer of so many bytes. Raises SystemExit."""
    had = 0
    while piece := len(sock.recv(_LARGEST)):
        had += piece
    if had != whole:
        raise SystemExit(f"an answer has {had} bytes, where the first had {whole}")


def main() -> None:
    host, port, path, size, way, span, every, *pace = sys.argv[1:]
    seconds, looks = float(span), int(every)
    gap, phase = map(float, pace or (0, 0))
    at = (host, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n".encode()
    count = whole = 0
    rtts, early = [], []
    print("ready", flush=True)
    began = float(sys.stdin.readline())
    time.sleep(max(began - time.monotonic(), 0.0))
    spent = time.process_time()
    now, due = 0.0, phase
    while not count or max(now, due) < seconds:
        if due > now:
            time.sleep(due - now)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            look = count % looks == 0
            if way == "tfo":
                sock.sendto(request, socket.MSG_FASTOPEN, at)
            else:
                sock.connect(at)
                if look:
                    rtts.append(struct.unpack_from("I", kernel_told(sock), _RTT)[0] / 1e6)
                sock.send(request)
            if count:
                take(sock, whole)
            else:
                whole = take_first(sock, int(size))
            if look and way == "tfo":
                early.append(bool(kernel_told(sock)[_OPTIONS] & _SYN_DATA))
        count += 1
        due = phase + count * gap
        now = time.monotonic() - began
    spent = time.process_time() - spent
    # To end takes milliseconds of a core on which others may still have some to do.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    told = {"count": count, "ended": began + now, "cpu": spent, "rtts": rtts, "early": early}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
