"""Shows that an MPTCP client that fell back to TCP loses bytes of segments that overlap old ones.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
server on it. For each row it prints how many bytes the client acknowledged, and what it read.
Exit status: 0 nothing was lost, 1 bytes were lost, 77 this kernel has no MPTCP.
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

CLIENT, SERVER, ISN = "10.9.0.1", "10.9.0.2", 1000
FIN, SYN, PSH, ACK = 1, 2, 8, 16
MPTCP = getattr(socket, "IPPROTO_MPTCP", 262)
ROWS = {
    "data in the SYN-ACK, the rest": (True, b"serv", [(4, b"ed\n")]),
    "data in the SYN-ACK, all again": (True, b"serv", [(0, b"served\n")]),
    "no fast open, all again": (False, b"", [(0, b"serv"), (0, b"served\n")]),
    "no fast open, a part again": (False, b"", [(0, b"serv"), (2, b"rved\n"), (7, b"more\n")]),
}
"""Fast open or not, data in the SYN-ACK, and the segments behind it: offset and data."""


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, ports, seq, ack, flags, data=b"", options=b""):
    """One segment from the server to the client."""
    head = struct.pack("!HHIIBBHHH", *ports, seq, ack, 80 + 4 * len(options), flags, 65535, 0, 0)
    ends = socket.inet_aton(SERVER) + socket.inet_aton(CLIENT)
    whole = head + options + data
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def received(tun, flag):
    """The next segment of the client with that flag: ports for an answer, SEQ, ACK, and data."""
    while select.select([tun], [], [], 3)[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 == 4 and packet[33] & flag:
            to, source, seq, ack = struct.unpack("!HHII", packet[20:32])
            return (source, to), seq, ack, packet[20 + (packet[32] >> 4) * 4 :]
    sys.exit("the client sent nothing for 3 s")


def client(protocol, fast, got):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as end:
        if fast:
            end.sendto(b"request", socket.MSG_FASTOPEN, (SERVER, 80))
        else:
            end.connect((SERVER, 80))
            end.sendall(b"request")
        got += iter(lambda: end.recv(100), b"")


def converse(tun, protocol, fast, first, segments):
    """What a client reads, and how many bytes it acknowledges. The last segment has a FIN."""
    got = []
    reader = threading.Thread(target=client, args=(protocol, fast, got))
    reader.start()
    ports, seq, _, data = received(tun, SYN)
    options = bytes([2, 4, 5, 180]) + (bytes([34, 10]) + b"cookie78" + b"\1\1") * fast
    send(tun, ports, ISN, seq + 1 + len(data), SYN | ACK, first, options)
    while not data:
        data = received(tun, ACK)[3]
    for begin, text in segments:
        time.sleep(0.1)  # so that each is read before the next comes, as after a lost ACK
        flags = ACK | PSH | (FIN if (begin, text) == segments[-1] else 0)
        send(tun, ports, ISN + 1 + begin, seq + 8, flags, text)
    size, acked = begin + len(text), 0
    while acked <= size:
        acked = received(tun, ACK)[2] - ISN - 1
    reader.join()
    send(tun, ports, ISN + 2 + size, seq + 9, ACK)
    return b"".join(got), size


def main():
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP).close()
    except OSError as error:
        print(f"no MPTCP here: {error}")
        return 77
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {CLIENT}/24 dev tun0", "link set tun0 up"):
        subprocess.run(["ip", *words.split()], check=True)
    converse(tun, socket.IPPROTO_TCP, True, b"", [(0, b"cookie")])
    lost = 0
    for name, protocol in (("TCP", socket.IPPROTO_TCP), ("MPTCP", MPTCP)):
        for row, (fast, first, segments) in ROWS.items():
            got, acked = converse(tun, protocol, fast, first, segments)
            lost |= len(got) != acked
            print(f"{name:5}  {row:30}  acknowledged {acked:2}, read {len(got):2}: {got!r}")
    return lost


if __name__ == "__main__":
    sys.exit(main())
