"""Shows that Linux leaves agreed timestamps out of an ACK if the TSval of the SYN was 0.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server. For each TSval of the client's SYN it prints
whether the SYN-ACK and the ACK behind it have timestamps. Exit status: 0 both always have them, 1
the ACK lacks them.
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
FIN, SYN = 1, 2
TIMESTAMPS = 8


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, port, flags, tsval):
    """One segment at the ISN from the client to the server."""
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER)
    options = struct.pack("!BBBBII", 1, 1, TIMESTAMPS, 10, tsval, 0)
    whole = struct.pack("!HHIIBBHHH", port, 80, ISN, 0, 128, flags, 65535, 0, 0) + options
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def received(tun, port):
    """The options of the first packet that comes for the client's port; None if none comes."""
    end = time.monotonic() + 0.5
    while select.select([tun], [], [], max(0.0, end - time.monotonic()))[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 == 4 and packet[9] == 6 and packet[22:24] == struct.pack("!H", port):
            return packet[40 : 20 + (packet[32] >> 4) * 4]
    return None


def has_times(options):
    """Whether there are timestamps among the options of a segment, None for no segment."""
    while options:
        if options[0] == TIMESTAMPS:
            return "timestamps"
        options = options[1:] if options[0] == 1 else options[options[1] :] if options[0] else b""
    return "nothing came" if options is None else "no timestamps"


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    with socket.create_server((SERVER, 80)):
        results = {}
        for port, tsval in enumerate((0, 1, 12345), 40000):
            send(tun, port, SYN, tsval)
            first = has_times(received(tun, port))
            # It has no ACK, and a number below the window: an ACK is owed.
            send(tun, port, FIN, tsval)
            results[tsval] = has_times(received(tun, port))
            print(f"TSval {tsval:5}:  SYN-ACK: {first};  ACK: {results[tsval]}")
    return int("no timestamps" in results.values())


if __name__ == "__main__":
    sys.exit(main())
