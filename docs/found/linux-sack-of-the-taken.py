"""Shows that Linux reports text by SACK that the same segment acknowledges, when a FIN ends a gap.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server. Numbers count from the client's ISN. Exit
status: 0 no block lies below the acknowledgement, 1 one does.
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
PERMITTED, SACK = b"\1\1\4\2", 5
ROWS = {"after its FIN": True, "before its FIN": False}


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, port, seq, ack, flags, data=b"", options=b""):
    """One segment from the client to the server; seq from the ISN."""
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER)
    head = struct.pack("!HHII", port, 80, ISN + seq, ack)
    head += struct.pack("!BBHHH", 80 + 4 * len(options), flags, 65535, 0, 0)
    whole = head + options + data
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def blocks(options):
    """The blocks of SACK, from the ISN."""
    at = 0
    while at < len(options) and options[at]:
        if options[at] == SACK:
            edges = options[at + 2 : at + options[at + 1]]
            numbers = [each - ISN for each in struct.unpack(f"!{len(edges) // 4}I", edges)]
            return list(zip(numbers[::2], numbers[1::2], strict=True))
        at += 1 if options[at] == 1 else options[at + 1]
    return []


def received(tun, port, seconds=0.3):
    """Flags, SEQ, ACK from the ISN, and blocks of what comes within a while for a port."""
    found = []
    end = time.monotonic() + seconds
    while select.select([tun], [], [], max(0.0, end - time.monotonic()))[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 != 4 or packet[9] != 6 or packet[22:24] != struct.pack("!H", port):
            continue
        seq, ack, offset, flags = struct.unpack("!IIBB", packet[24:34])
        options = packet[40 : 20 + (offset >> 4) * 4]
        found.append((flags, seq, ack - ISN, blocks(options)))
    return found


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    listener = socket.socket()
    listener.bind((SERVER, 80))
    listener.listen()
    wrong = False
    for port, (row, closes) in enumerate(ROWS.items(), 40000):
        send(tun, port, 0, 0, SYN, options=b"\2\4\5\xb4" + PERMITTED)
        iss = received(tun, port)[0][1] + 1
        send(tun, port, 1, iss, ACK)
        server, _ = listener.accept()
        if closes:
            server.shutdown(socket.SHUT_WR)
            received(tun, port)
        iss += closes
        # The second half of the text, and the FIN, come before the first half.
        send(tun, port, 101, iss, PSH | ACK, b"x" * 100)
        send(tun, port, 201, iss, FIN | ACK)
        received(tun, port)
        send(tun, port, 1, iss, PSH | ACK, b"x" * 100)
        for _, _, ack, found in received(tun, port):
            wrong |= any(end <= ack for _, end in found)
            print(f"{row:15} ACK {ack}, blocks {found or 'none'}")
        send(tun, port, 202, iss, RST | ACK)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
