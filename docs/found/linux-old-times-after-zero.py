"""Shows that Linux takes text with an old timestamp if the last TSval was 0.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server. For each TSval of the client's first text it
prints whether more text is acknowledged, whose TSval is 100 seconds older. Exit status: 0 never, 1
it is acknowledged.
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
SYN, ACK, PSH = 2, 16, 24
TIMESTAMPS = 8
OLDER = 100_000


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, port, flags, tsval, at=0, ack=0, text=b""):
    """A segment from the client to the server. at: its place behind the ISN."""
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER)
    options = struct.pack("!BBBBII", 1, 1, TIMESTAMPS, 10, tsval % (1 << 32), 0)
    head = struct.pack("!HHIIBBHHH", port, 80, ISN + at, ack, 128, flags, 65535, 0, 0)
    whole = head + options + text
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def received(tun, port):
    """The numbers, SEQ and ACK, of the first packet that comes for the client's port."""
    end = time.monotonic() + 0.5
    while select.select([tun], [], [], max(0.0, end - time.monotonic()))[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 == 4 and packet[9] == 6 and packet[22:24] == struct.pack("!H", port):
            return struct.unpack("!II", packet[24:32])
    sys.exit("nothing came")


def acknowledged(tun, port, tsval):
    """What is acknowledged, behind the ISN, once text of an older TSval came."""
    send(tun, port, SYN, tsval - 1)
    behind = received(tun, port)[0] + 1
    send(tun, port, ACK, tsval, 1, behind)
    send(tun, port, PSH, tsval, 1, behind, b"one ")
    received(tun, port)
    send(tun, port, PSH, tsval - OLDER, 5, behind, b"two ")
    return received(tun, port)[1] - ISN


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    with socket.create_server((SERVER, 80)):
        taken = False
        for port, tsval in enumerate((-1, 0, 1, 12345), 40000):
            number = acknowledged(tun, port, tsval)
            taken = taken or number > 5
            older = (tsval - OLDER) % (1 << 32)
            what = "acknowledged" if number > 5 else "not acknowledged"
            print(f"TSval {tsval % (1 << 32):10}, then {older}: {what}")
    return int(taken)


if __name__ == "__main__":
    sys.exit(main())
