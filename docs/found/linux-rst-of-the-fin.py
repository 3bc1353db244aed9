"""Shows that Linux believes a RST with the number of a FIN that it has acknowledged.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server. For each row it prints what became of the
server's connection. Exit status: 0 the RST below the window was dropped, 1 it ended the connection.
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time

CLIENT, SERVER, ISN = "10.9.0.2", "10.9.0.1", 1000
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ROWS = {
    "no RST": (True, None),
    "before the FIN, at RCV.NXT-1": (False, -1),
    "after the FIN, at RCV.NXT-2": (True, -2),
    "after the FIN, at RCV.NXT-1": (True, -1),
    "after the FIN, at RCV.NXT": (True, 0),
}
"""Whether the client has sent its FIN, and where its RST is, from the server's RCV.NXT."""


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, port, seq, ack, flags, data=b""):
    """One segment from the client to the server."""
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER)
    whole = struct.pack("!HHIIBBHHH", port, 80, seq, ack, 80, flags, 65535, 0, 0) + data
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def received(tun, port, seconds=0.3):
    """Flags, SEQ, ACK and length of what comes within a while for the client's port."""
    found = []
    end = time.monotonic() + seconds
    while select.select([tun], [], [], max(0.0, end - time.monotonic()))[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 != 4 or packet[9] != 6 or packet[22:24] != struct.pack("!H", port):
            continue
        seq, ack, offset, flags = struct.unpack("!IIBB", packet[24:34])
        found.append((flags, seq, ack, len(packet) - 20 - (offset >> 4) * 4))
    return found


def converse(tun, listener, port, ends, place):
    """What the server's application gets from `recv` and `send` in the end."""
    send(tun, port, ISN, 0, SYN)
    iss = next(seq for flags, seq, *_ in received(tun, port) if flags & SYN) + 1
    send(tun, port, ISN + 1, iss, ACK | PSH | (FIN if ends else 0), b"request")
    server, _ = listener.accept()
    following = ISN + 8 + ends
    assert received(tun, port)[-1][2] == following, "what came is not acknowledged"
    if place is not None:
        send(tun, port, (following + place) % 2**32, 0, RST)
    told = received(tun, port)
    with server:
        try:
            got = server.recv(100)
            server.sendall(b"answer")
        except OSError as error:
            return f"{type(error).__name__}"
        answered = any(length for *_, length in told + received(tun, port))
        send(tun, port, following, iss + 6, RST | ACK)
        return f"read {got!r}, the answer {'came' if answered else 'never came'}"


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    listener = socket.create_server((SERVER, 80))
    results = {}
    for port, (row, (ends, place)) in enumerate(ROWS.items(), 40000):
        results[row] = converse(tun, listener, port, ends, place)
        print(f"{row:30}  {results[row]}")
    return int(results["after the FIN, at RCV.NXT-1"] != results["no RST"])


if __name__ == "__main__":
    sys.exit(main())
