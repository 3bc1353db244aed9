"""A client for the reproductions of this folder, in plain Python: it speaks TCP over Ethernet.

    python3 SCRIPT.py [--iface tap0] [--source 10.77.0.100] [TARGET [PORT]]

Linux, as root. TARGET (10.77.0.2) is an echo server with fast open on PORT (7), in the network of
the interface. The source must be an address of that network which nobody has: this program answers
for it, so no kernel gets in the way. Rows count sequence numbers from each side's ISN.
"""

import argparse
import random
import select
import socket
import struct
import time
from dataclasses import dataclass

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
MSS = b"\2\4\5\xb4"
FAST_OPEN = 34
_LETTERS = "FSRPAUEW"
_ARP, _IP = 0x0806, 0x0800


def fast_open(cookie=b""):
    """The option of RFC 7413; a request without a cookie."""
    return bytes([FAST_OPEN, 2 + len(cookie)]) + cookie


def scale(shift):
    """The window scale option."""
    return bytes([1, 3, 3, shift])


def _checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


@dataclass
class Segment:
    """One of the target's. number: SEQ from its ISN, once that is known. ack: from ours."""

    when: float
    flags: int
    seq: int
    ack: int
    window: int
    options: bytes
    data: bytes

    def option(self, kind):
        """The content of an option; None where it is not there."""
        at = 0
        while at < len(self.options) and self.options[at] != 0:
            if self.options[at] == 1:
                at += 1
                continue
            size = self.options[at + 1]
            if self.options[at] == kind:
                return self.options[at + 2 : at + size]
            at += size
        return None


class Wire:
    """The client's side of an interface. quiet: nothing is printed."""

    def __init__(self, arguments):
        self.port = arguments.port
        self._own, self._target = (
            socket.inet_aton(each) for each in (arguments.source, arguments.target)
        )
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.bind((arguments.iface, 0))
        self._mac = bytes([2, 0, 0]) + random.randbytes(3)
        self._peer = self._resolve()
        self._ports = random.sample(range(20000, 60000), 2000)

    def _arp(self, kind, mac, address):
        head = struct.pack("!6s6sHHHBBH", mac, self._mac, _ARP, 1, _IP, 6, 4, kind)
        asked = b"\0" * 6 if kind == 1 else mac
        self._socket.send(head + self._mac + self._own + asked + address)

    def _resolve(self):
        for _ in range(5):
            self._arp(1, b"\xff" * 6, self._target)
            end = time.monotonic() + 1
            while (frame := self._frame(end)) is not None:
                is_answer = frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2"
                if is_answer and frame[28:32] == self._target:
                    return frame[22:28]
        raise SystemExit(f"{socket.inet_ntoa(self._target)} does not answer ARP")

    def _frame(self, end):
        left = end - time.monotonic()
        if left <= 0 or not select.select([self._socket], [], [], left)[0]:
            return None
        frame = self._socket.recv(65536)
        if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] == self._own:
            self._arp(2, frame[22:28], frame[28:32])
        return frame

    def connection(self, isn=None):
        """A connection from a port that was not used before."""
        return Connection(self, self._ports.pop(), random.getrandbits(32) if isn is None else isn)

    def cookie(self):
        """A cookie for the source. Raises SystemExit where none is granted."""
        asked = self.connection()
        asked.quiet = True
        asked.send(SYN, options=MSS + fast_open())
        for segment in asked.received(2.0, until=SYN):
            found = segment.option(FAST_OPEN)
            asked.send(RST, 1)
            if found:
                return found
        raise SystemExit("the target grants no cookie")

    def send(self, sport, seq, ack, flags, data, options, window):
        """One segment, with right checksums."""
        options += b"\1" * (-len(options) % 4)
        ends = self._own + self._target
        head = struct.pack("!HHII", sport, self.port, seq % 2**32, ack % 2**32)
        head += struct.pack("!BBHHH", 80 + 4 * len(options), flags, window, 0, 0)
        whole = head + options + data
        total = _checksum(ends + struct.pack("!HH", 6, len(whole)) + whole)
        ip = struct.pack("!BBHHHBBH", 69, 0, 20 + len(whole), 0, 0, 64, 6, 0) + ends
        ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
        frame = self._peer + self._mac + struct.pack("!H", _IP) + ip
        self._socket.send(frame + whole[:16] + struct.pack("!H", total) + whole[18:])

    def received(self, sport, end):
        """The next segment for a port until a moment, None after it."""
        while (frame := self._frame(end)) is not None:
            if frame[12:14] != b"\x08\0" or frame[23] != 6 or frame[30:34] != self._own:
                continue
            ip = frame[14 : 14 + int.from_bytes(frame[16:18], "big")]
            source, dest, seq, ack, offset, flags, window = struct.unpack("!HHIIBBH", ip[20:36])
            if source == self.port and dest == sport:
                start = 20 + (offset >> 4) * 4
                options, data = ip[40:start], ip[start:]
                return Segment(time.monotonic(), flags, seq, ack, window, options, data)
        return None


class Connection:
    """isn: ours. iss: the target's, None until it is known."""

    def __init__(self, wire, sport, isn):
        self._wire, self._sport, self.isn = wire, sport, isn
        self.iss = None
        self.quiet = False
        self._began = time.monotonic()

    def send(self, flags, seq=0, ack=None, *, data=b"", options=b"", window=65535):
        """seq, ack: from the ISNs."""
        iss = self.iss or 0
        number = 0 if ack is None else iss + ack
        if ack is not None:
            flags |= ACK
        self._wire.send(self._sport, self.isn + seq, number, flags, data, options, window)
        self._row("-->", flags, seq, ack, options, data, window)

    def received(self, seconds, *, until=0):
        """What comes within a while, each once; an end after one that has a flag of `until`."""
        end = time.monotonic() + seconds
        while (segment := self._wire.received(self._sport, end)) is not None:
            if segment.flags & SYN or self.iss is None:
                # What comes before any SYN-ACK has no SYN, and so a number one above the ISN.
                self.iss = segment.seq if segment.flags & SYN else segment.seq - 1
            segment.seq = (segment.seq - self.iss) % 2**32
            segment.ack = (segment.ack - self.isn) % 2**32 if segment.flags & ACK else 0
            ack = segment.ack if segment.flags & ACK else None
            self._row("<--", segment.flags, segment.seq, ack, segment.options, segment.data,
                      segment.window)  # fmt: skip
            yield segment
            if segment.flags & until:
                return

    def _row(self, arrow, flags, seq, ack, options, data, window):
        if self.quiet:
            return
        letters = "".join(each for bit, each in enumerate(_LETTERS) if flags >> bit & 1) or "."
        text = f"{time.monotonic() - self._began:6.1f}  {arrow} {letters:3} seq {seq}"
        text += f" len {len(data)}" + ("" if ack is None else f" ack {ack}") + f" win {window}"
        found = Segment(0, 0, 0, 0, 0, options, b"").option(FAST_OPEN) if options else None
        if found is not None:
            text += f", fast open option of length {2 + len(found)}"
        print(text, flush=True)


def established(about):
    """A connection along that wire, whose handshake is over, without options but the MSS."""
    connection = opened(about).connection()
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    connection.send(0, 1, 1)
    return connection


def opened(about):
    """The wire that the command line names. about: of the script."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--iface", default="tap0")
    parser.add_argument("--source", default="10.77.0.100", help="an IPv4 address that nobody has")
    parser.add_argument("target", nargs="?", default="10.77.0.2")
    parser.add_argument("port", nargs="?", type=int, default=7)
    return Wire(parser.parse_args())
