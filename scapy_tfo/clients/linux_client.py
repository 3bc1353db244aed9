"""A client that uses Linux's fast open: `python linux_client.py WAY HOST PORT FILE`.

WAY: `msg` (sendto with MSG_FASTOPEN), `connect` (TCP_FASTOPEN_CONNECT) or `plain`. The suffix
`+md5` adds TCP MD5 (RFC 2385), which crowds the options of its segments. The client sends the file,
reads until the server closes, and writes what it read to standard output. The last line of standard
error is TCP_INFO in hex. It imports little, so that many can be started.
"""

import socket
import struct
import sys

_LARGEST = 1 << 16
_FASTOPEN_CONNECT = 30
_INFO = 104
_MD5 = 14
_LARGEST_ADDRESS, _LARGEST_KEY = 128, 80


def _signature(family: int, host: str, port: int) -> bytes:
    """A struct tcp_md5sig with a key of our own (include/uapi/linux/tcp.h)."""
    packed = socket.inet_pton(family, host)
    head = struct.pack("=H", family) + port.to_bytes(2, "big")
    address = head + (packed if family == socket.AF_INET else bytes(4) + packed)
    key = b"a key of ours"
    size = struct.pack("=BBHi", 0, 0, len(key), 0)
    return address.ljust(_LARGEST_ADDRESS, b"\0") + size + key.ljust(_LARGEST_KEY, b"\0")


def main() -> int:
    """Exit status 0 where all was sent and the server closed in order."""
    way, host, port, file = sys.argv[1:5]
    with open(file, "rb") as source:
        text = source.read()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    at = (host, int(port))
    way, _, crowded = way.partition("+")
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        try:
            if crowded:
                sock.setsockopt(socket.IPPROTO_TCP, _MD5, _signature(family, *at))
            if way == "msg":
                sent = sock.sendto(text, socket.MSG_FASTOPEN, at)
                text = text[sent:]
            else:
                if way == "connect":
                    sock.setsockopt(socket.IPPROTO_TCP, _FASTOPEN_CONNECT, 1)
                sock.connect(at)
            sock.sendall(text)
            while piece := sock.recv(_LARGEST):
                sys.stdout.buffer.write(piece)
        except OSError as error:
            print(error, file=sys.stderr)
            return 1
        sys.stdout.buffer.flush()
        print(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO).hex(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
