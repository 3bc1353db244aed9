"""Shows that Linux marks the SYN-ACK of a fast open as ECN-capable when it sends it again.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server. For each packet that comes it prints the ECN
field. Exit status: 0 no SYN-ACK was marked, 1 one was.
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
from pathlib import Path

CLIENT, SERVER, ISN = "10.9.0.2", "10.9.0.1", 1000
SYN, RST, ACK, ECE, CWR = 2, 4, 16, 64, 128
ROWS = {"fast open": True, "no fast open": False}
NAMES = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, port, seq, ack, flags, data=b"", options=b""):
    """One segment from the client to the server."""
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER)
    head = struct.pack("!HHII", port, 80, seq, ack)
    head += struct.pack("!BBHHH", 80 + 4 * len(options), flags, 65535, 0, 0)
    whole = head + options + data
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def received(tun, port, seconds):
    """ECN field, flags, SEQ, options and length of what comes within a while for a port."""
    found = []
    end = time.monotonic() + seconds
    while select.select([tun], [], [], max(0.0, end - time.monotonic()))[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 != 4 or packet[9] != 6 or packet[22:24] != struct.pack("!H", port):
            continue
        seq, _, offset, flags = struct.unpack("!IIBB", packet[24:34])
        behind = 20 + (offset >> 4) * 4
        found.append((packet[1] & 3, flags, seq, packet[40:behind], len(packet) - behind))
    return found


def cookie(tun):
    """A cookie for the client."""
    send(tun, 39999, ISN, 0, SYN, options=b"\x22\x02\1\1")
    options = received(tun, 39999, 0.5)[0][3]
    send(tun, 39999, ISN + 1, 0, RST)
    begin = options.index(b"\x22")
    return options[begin + 2 : begin + options[begin + 1]]


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    Path("/proc/sys/net/ipv4/tcp_fastopen").write_text("2")
    listener = socket.socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    listener.bind((SERVER, 80))
    listener.listen()
    granted = cookie(tun)
    marked = False
    for port, (row, fast) in enumerate(ROWS.items(), 40000):
        options = bytes([34, 2 + len(granted)]) + granted + b"\1\1" if fast else b""
        send(tun, port, ISN, 0, SYN | ECE | CWR, b"request" if fast else b"", options)
        if fast:
            server, _ = listener.accept()
            server.sendall(server.recv(100))
        for field, flags, _, _, length in received(tun, port, 1.6):
            kind = "SYN-ACK" if flags & SYN else "text"
            marked |= bool(flags & SYN and field)
            print(f"{row:12}  {kind:7}  {length} bytes  {NAMES[field]}")
        send(tun, port, ISN + 1 + 7 * fast, 0, RST)
    return int(marked)


if __name__ == "__main__":
    sys.exit(main())
