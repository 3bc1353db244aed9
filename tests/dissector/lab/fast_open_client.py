"""A client program that uses this machine's kernel, in a namespace of its own.

    python fast_open_client.py PLAN CAPTURE

It runs the conversations of PLAN (JSON, see `plan.py`) concurrently, captures the packets on the
interface with the kernel's own time stamps, and prints one JSON object: TCP_INFO of each
connection, and the namespace's counters.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from scapy_tfo.lab.kernel.agent import DEVICE, parse_netstat

PATIENCE = 2.5
"""Seconds a connection waits for its answer: more than a retransmission of a SYN takes."""

LINGER = 0.3
"""Seconds the capture goes on behind the last connection."""

_ETH_P_ALL = 3
_SO_TIMESTAMPNS = 35
_TCP_FASTOPEN_NO_COOKIE = 34
_LINKTYPE_RAW = 101
_PCAP_NANOSECONDS = 0xA1B23C4D
_SYN_DATA_ACKED = 0x20
_PATIENCE = int(PATIENCE), round(PATIENCE % 1 * 1e6)
_TIMEVAL, _TIMESPEC, _LINGER = struct.Struct("ll"), struct.Struct("ll"), struct.Struct("ii")


class Capture(threading.Thread):
    """What passes the interface, as IP packets in a pcap file."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind((DEVICE, _ETH_P_ALL))
        self._socket.settimeout(LINGER)
        self._until = float("inf")

    def run(self) -> None:
        head = struct.pack("<IHHiIII", _PCAP_NANOSECONDS, 2, 4, 0, 0, 1 << 16, _LINKTYPE_RAW)
        records = [head]
        while time.monotonic() < self._until:
            try:
                packet, ancillary, _, _ = self._socket.recvmsg(1 << 16, 64)
            except TimeoutError:
                continue
            seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
            size = len(packet)
            records += struct.pack("<IIII", seconds, nanoseconds, size, size), packet
        self._path.write_bytes(b"".join(records))

    def end(self) -> None:
        """Write the file, once all have settled."""
        self._until = time.monotonic() + LINGER
        self.join()
        self._socket.close()


def converse(conversation: dict[str, Any], words: dict[int, dict[str, Any]]) -> None:
    """One connection after the other, each of them judged by the kernel."""
    for step in conversation["steps"]:
        words[step["number"]] = connect(conversation["server"], step)


def connect(server: str, step: dict[str, Any]) -> dict[str, Any]:
    """One connection: what TCP_INFO says of it, and what the server answered."""
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    data = bytes.fromhex(step["data"])
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        # A timeout of Python's own would make the socket non-blocking, and a request fail.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(*_PATIENCE))
        sock.bind(("", step["sport"]))
        error, answer = "", b""
        try:
            _send(sock, (server, step["dport"]), data, step["how"])
            while len(answer) < len(data):
                more = sock.recv(1 << 16)
                if not more:
                    break
                answer += more
        except OSError as failure:
            error = failure.strerror
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        if step["ends"] == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER.pack(1, 0))
        elif not error:
            # The server may be done with it in another way: that is the capture's to show.
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1 << 16):
                    pass
    return {
        "acked": bool(info[5] & _SYN_DATA_ACKED),
        "failed": info[7] >> 1 & 3,
        "retransmitted": struct.unpack_from("I", info, 100)[0],
        "answered": answer == data,
        "error": error,
    }


def _send(sock: socket.socket, to: tuple[str, int], data: bytes, how: str) -> None:
    if how == "plain":
        sock.connect(to)
        sock.sendall(data)
        return
    if how == "without cookie":
        sock.setsockopt(socket.IPPROTO_TCP, _TCP_FASTOPEN_NO_COOKIE, 1)
    sent = sock.sendto(data, socket.MSG_FASTOPEN, to)
    sock.sendall(data[sent:])


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    capture = Capture(Path(sys.argv[2]))
    capture.start()
    words: dict[int, dict[str, Any]] = {}
    talks = [
        threading.Thread(target=converse, args=(each, words)) for each in plan["conversations"]
    ]
    for talk in talks:
        talk.start()
        time.sleep(plan["pause"])
    for talk in talks:
        talk.join()
    capture.end()
    counters = parse_netstat(Path("/proc/net/netstat").read_text())
    print(json.dumps({"words": words, "counters": counters}))


if __name__ == "__main__":
    main()
