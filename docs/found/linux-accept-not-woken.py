"""Shows that Linux does not wake the application for a connection whose handshake saw a SYN-ACK
with text.

Linux, as root, with `ip` of iproute2. It makes a network namespace with a TUN device, and is the
client on it; a socket of the kernel is the server, and a thread waits in accept. It plays an
ordinary handshake, one in which the client sends a SYN-ACK with a byte of text before its ACK, and
an ordinary one again, and prints what was accepted a second after each. Exit status: 0 each
connection was, 1 one had to wait for the next.
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

CLIENT, SERVER, ISN = "10.9.0.2", "10.9.0.1", 1000
SYN, PSH, ACK = 2, 8, 16


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def send(tun, port, flags, number, ack=0, text=b""):
    """One segment from the client to the server; number: behind the client's ISN."""
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER)
    fields = (port, 80, ISN + number, ack, 80, flags, 65535, 0, 0)
    whole = struct.pack("!HHIIBBHHH", *fields) + text
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    os.write(tun, ip + whole[:16] + struct.pack("!H", total) + whole[18:])


def received(tun, port):
    """Number and acknowledgement of the first segment for the client's port within 0.5 s."""
    end = time.monotonic() + 0.5
    while select.select([tun], [], [], max(0.0, end - time.monotonic()))[0]:
        packet = os.read(tun, 2000)
        if packet[0] >> 4 == 4 and packet[9] == 6 and packet[22:24] == struct.pack("!H", port):
            return struct.unpack("!II", packet[24:32])
    sys.exit("the server does not answer")


def open_connection(tun, port, *, odd):
    """A handshake, and text behind it that the server acknowledges."""
    send(tun, port, SYN, 0)
    iss, _ = received(tun, port)
    if odd:
        send(tun, port, SYN | ACK, 0, iss + 1, b"x")
        received(tun, port)
    send(tun, port, ACK, 1, iss + 1)
    send(tun, port, PSH | ACK, 1, iss + 1, b"text")
    _, ack = received(tun, port)
    return ack == ISN + 1 + len("text")


def serve(server, accepted):
    """The application: it waits for connections, and notes the client's port of each."""
    held = []
    while True:
        connection, (_, port) = server.accept()
        held.append(connection)
        accepted.append(port)


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, TUN, no head
    for words in (f"address add {SERVER}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    accepted = []
    server = socket.create_server((SERVER, 80))
    threading.Thread(target=serve, args=(server, accepted), daemon=True).start()
    hung = False
    for port, odd in ((40000, False), (40001, True), (40002, False)):
        taken = open_connection(tun, port, odd=odd)
        time.sleep(1.0)
        shown = "SYN-ACK with text, ACK" if odd else "ACK"
        text = "acknowledged" if taken else "not acknowledged"
        print(f"client {port}: {shown}: text {text}; accepted so far: {accepted}")
        hung = hung or port not in accepted
    return int(hung)


if __name__ == "__main__":
    sys.exit(main())
