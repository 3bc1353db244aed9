"""Shows that Wireshark says of a server that it ignored data which it never got.

It writes a capture of a client: a SYN with cookie and data that was lost, the SYN once more, as a
client sends it after a timeout (RFC 7413 section 4.1.3.1: without data), and a right SYN-ACK. It
needs tshark. Exit status: 0 no such remark, 1 there is one.
"""

import socket
import struct
import subprocess
import sys
import tempfile

CLIENT, SERVER = "192.0.2.1", "192.0.2.2"
SYN, PSH, ACK = 2, 8, 16
MSS, COOKIE = b"\2\4\5\xb4", bytes([34, 10, *range(8), 1, 1])


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def packet(source, dest, seq, ack, flags, data=b"", options=b""):
    ports = (40000, 80) if source == CLIENT else (80, 40000)
    ends = socket.inet_aton(source) + socket.inet_aton(dest)
    head = struct.pack("!HHIIBBHHH", *ports, seq, ack, 80 + 4 * len(options), flags, 65535, 0, 0)
    whole = head + options + data
    total = checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
    ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return ip + whole[:16] + struct.pack("!H", total) + whole[18:]


PACKETS = (
    (0.00, packet(CLIENT, SERVER, 1000, 0, SYN, b"request", MSS + COOKIE)),  # lost
    (1.00, packet(CLIENT, SERVER, 1000, 0, SYN, b"", MSS)),
    (1.02, packet(SERVER, CLIENT, 5000, 1001, SYN | ACK, b"", MSS)),
    (1.03, packet(CLIENT, SERVER, 1001, 5001, ACK)),
    (1.04, packet(CLIENT, SERVER, 1001, 5001, PSH | ACK, b"request")),
)


def main():
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for when, data in PACKETS:
            times = int(when), round(when % 1 * 1e6)
            file.write(struct.pack("<IIII", *times, len(data), len(data)) + data)
        file.flush()
        fields = ("frame.number", "tcp.flags.str", "tcp.len", "tcp.ack", "tcp.analysis.tfo_ignored")
        asked = ["tshark", "-r", file.name, "-T", "fields"]
        for each in fields:
            asked += ["-e", each]
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in told.splitlines()]
    for row in (fields, *rows):
        cells = zip(row, fields, strict=True)
        print("  ".join(f"{cell:{len(head)}}" for cell, head in cells).rstrip())
    return int(any(row[-1] == "1" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
