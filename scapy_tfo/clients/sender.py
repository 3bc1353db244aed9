"""A client of Linux's own fast open: `python sender.py WAY HOST PORT FILE`.

WAY: `msg` (sendto with MSG_FASTOPEN), `connect` (TCP_FASTOPEN_CONNECT) or `plain`. It sends the
file, reads until the server closes, writes that to standard output, and TCP_INFO in hex as the last
line of standard error. It imports little, so that many of it can be started.
"""

import socket
import sys

_LARGEST = 1 << 16
_FASTOPEN_CONNECT = 30
_INFO = 104


def main() -> int:
    """Exit status 0 where all was sent and the server closed in order."""
    way, host, port, file = sys.argv[1:5]
    with open(file, "rb") as source:
        text = source.read()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    at = (host, int(port))
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        try:
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
