"""Shows that Linux acknowledges a byte and a second FIN behind a FIN that it has taken.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server. For each row it prints what the server says to
the second segment. Exit status: 0 nothing behind the FIN is acknowledged, 1 something is.
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
END = 12
"""The number behind the first FIN, counted from the ISN."""
ROWS = {
    "nothing more": None,
    "1 byte at the FIN": (ACK, b"x"),
    "1 byte at the FIN, and a FIN": (ACK | FIN, b"x"),
    "2 bytes at the FIN, and a FIN": (ACK | FIN, b"xx"),
}
"""What the client sends behind its FIN, from the number of that FIN on."""


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


def converse(tun, listener, port, second):
    """What the server has said in the end, and what its application has read."""
    send(tun, port, ISN, 0, SYN)
    iss = next(seq for flags, seq, *_ in received(tun, port) if flags & SYN) + 1
    send(tun, port, ISN + 1, iss, ACK | PSH | FIN, b"0123456789")
    server, _ = listener.accept()
    said = received(tun, port)
    if second is not None:
        flags, text = second
        send(tun, port, ISN + END - 1, iss, flags, text)
        said = received(tun, port) or said
    with server:
        try:
            got = b"".join(iter(lambda: server.recv(100), b""))
        except OSError as error:
            got = type(error).__name__
    flags, _, ack, _ = said[-1]
    send(tun, port, ack, iss, RST | ACK)
    return "RST" if flags & RST else f"ACK {ack - ISN}", got


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    listener = socket.create_server((SERVER, 80))
    beyond = 0
    for port, (row, second) in enumerate(ROWS.items(), 40000):
        said, got = converse(tun, listener, port, second)
        beyond |= said == f"ACK {END + 1}"
        print(f"{row:30}  {said}, the application read {got!r}")
    return beyond


if __name__ == "__main__":
    sys.exit(main())
