"""A client that does one short transaction after another.

`python closed_loop.py HOST PORT PATH SECONDS WAY`; WAY: `tcp` or `tfo`. Each transaction is a
connection, a request and its whole answer. At the end a line of JSON: transactions, seconds they
took, and seconds of processor time of this process.
"""

import json
import socket
import sys
import time

_LARGEST = 1 << 16


def main() -> None:
    host, port, path, seconds, way = sys.argv[1:6]
    at = (host, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n".encode()
    count = 0
    spent = time.process_time()
    began = time.perf_counter()
    until = began + float(seconds)
    while time.perf_counter() < until:
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
    figures = {"count": count, "seconds": took, "cpu": time.process_time() - spent}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
