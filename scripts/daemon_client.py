"""Makes a client of a daemon: starts it in front of one server, asks it once, and ends it.

`daemon_client.py KIND HOST PORT [BEHIND]`, of `KINDS`: what its upstream answered goes to standard
output. The exit status is 1 where the daemon answered that it could not, or not at all. BEHIND: the
port to which a proxy's server connects.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_WAIT = 20.0
"""Seconds for the daemon's answer."""
_START = 3.0
_REQUEST = b"GET / HTTP/1.1\r\nHost: example.net\r\nConnection: close\r\n\r\n"
_QUESTION = b"\x07example\x03net\x00" + struct.pack("!HH", 1, 1)

HAPROXY = """
global
  nbthread 1
defaults
  mode http
  timeout connect 15s
  timeout client 15s
  timeout server 15s
  retries 1
  retry-on conn-failure empty-response response-timeout
  option http-server-close
frontend front
  bind {here}
  default_backend behind
backend behind
  server one {endpoint} tfo
"""
UNBOUND = """
server:
  interface: {address}
  port: {port}
  directory: {directory}
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  verbosity: 0
  do-daemonize: no
  num-threads: 1
  module-config: "iterator"
  tcp-upstream: yes
  qname-minimisation: no
  use-caps-for-id: no
  outbound-msg-retry: 0
  max-sent-count: 1
  outgoing-num-tcp: 1
  do-not-query-localhost: no
  unwanted-reply-threshold: 0
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: {forward}
"""
DNSDIST = """
setLocal("{here}")
setACL("127.0.0.0/8")
newServer({{address="{endpoint}", tcpFastOpen=true, retries=1, checkInterval=3600}}):setUp()
"""


def _joined(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _connected(port: int) -> socket.socket:
    """To the daemon, once it listens."""
    until = time.monotonic() + _START
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), _WAIT)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.005)


def _all(end: socket.socket) -> bytes:
    whole = b""
    while piece := end.recv(65536):
        whole += piece
    return whole


def _body(answer: bytes) -> bytes:
    """Of an HTTP answer. Raises ValueError where it is not whole, or no success."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found or b" 200 " not in head.split(b"\r\n")[0]:
        raise ValueError(f"answered: {answer[:60]!r}")
    size = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
    if size and len(body) != int(size):
        raise ValueError(f"{len(body)} of {size!r} bytes")
    return body


def ask_http(port: int, _behind: str) -> bytes:
    with _connected(port) as end:
        end.sendall(_REQUEST)
        return _body(_all(end))


def ask_by_socks(port: int, behind: str) -> bytes:
    with _connected(port) as end:
        end.sendall(b"\x05\x01\x00")
        end.recv(2)
        end.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + struct.pack("!H", int(behind)))
        end.recv(10)
        end.sendall(_REQUEST)
        return _body(_all(end))


def ask_dns(port: int, _behind: str) -> bytes:
    with _connected(port) as end:
        asked = struct.pack("!HHHHHH", os.getpid() & 0xFFFF, 0x100, 1, 0, 0, 0) + _QUESTION
        end.sendall(struct.pack("!H", len(asked)) + asked)
        answer = end.recv(65536)
        if len(answer) < 14 or answer[5] & 15 or not struct.unpack("!H", answer[8:10])[0]:
            raise ValueError(f"answered: {answer[:20]!r}")
        return answer[-4:]


def _started(kind: str, host: str, port: str, directory: str, own: int) -> list[str]:
    """The words that start a daemon, whose configuration is written."""
    made = {
        "haproxy": HAPROXY,
        "unbound": UNBOUND,
        "dnsdist": DNSDIST,
        "ss-local": "",
    }[kind].format(
        here=f"127.0.0.1:{own}",
        address="127.0.0.1",
        port=own,
        directory=directory,
        endpoint=_joined(host, port),
        forward=f"{host}@{port}",
    )
    config = Path(directory, "config")
    config.write_text(made, "utf-8")
    return {
        "haproxy": ["haproxy", "-q", "-db", "-f", str(config)],
        "unbound": ["unbound", "-d", "-c", str(config)],
        "dnsdist": ["dnsdist", "--supervised", "--disable-syslog", "-C", str(config)],
        "ss-local": [
            *("ss-local", "-s", host, "-p", port, "-b", "127.0.0.1", "-l", str(own), "--fast-open"),
            *("-k", "password", "-m", "aes-128-gcm", "-t", "15"),
        ],
    }[kind]


KINDS: dict[str, Callable[[int, str], bytes]] = {
    "haproxy": ask_http,
    "unbound": ask_dns,
    "dnsdist": ask_dns,
    "ss-local": ask_by_socks,
}


def main() -> int:
    kind, host, port = sys.argv[1:4]
    behind = "".join(sys.argv[4:])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        daemon = subprocess.Popen(
            _started(kind, host, port, directory, own),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            sys.stdout.buffer.write(KINDS[kind](own, behind))
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            with contextlib.suppress(ProcessLookupError):
                daemon.kill()
            daemon.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
