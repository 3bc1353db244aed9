"""Writes a capture of connections with known outcomes, and says which table it must give.

Interleaved connections of ten packets each, of which some use Fast Open, over IPv4 and IPv6.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

PACKETS = 10
"""Of each connection."""

SHARE = 10
"""Connections with Fast Open, of a hundred, unless another is asked for."""

DATA, ANSWER, PART, BEYOND = 100, 200, 40, 5
"""Bytes that a client sends and a server answers, that are acknowledged in part, and too many."""

FIN, SYN, RST, ACK = 1, 2, 4, 16
RTT, TIMEOUT = 20_000, 1_000_000
"""Microseconds."""

TOGETHER = 200
"""Connections that are open at the same time."""

CLIENT_OF = 40
"""Connections of one client."""

REQUEST, COOKIE, ANOTHER = "request", "cookie", "another cookie"


class Packet(NamedTuple):
    """One packet of a connection, its numbers counted from the sides' ISNs.

    wait: microseconds since the one before. start: what the server's ISN is moved by.
    """

    wait: int
    flags: int
    seq: int = 0
    ack: int = 0
    size: int = 0
    option: str = ""
    is_answer: bool = False
    start: int = 0


class Row(NamedTuple):
    """A line of the table: connections, bytes in SYNs, of these acknowledged by the SYN-ACK,
    sent again behind it, round trips saved less those lost, and seconds waited for a SYN."""

    connections: int
    sent: int
    acked: int
    resent: int
    saved: int
    waited: int = 0


@dataclass(frozen=True)
class Kind:
    """Connections of one kind: how many of fifty with Fast Open, the packets they begin with, how
    many bytes each side has sent in them, and what one adds to the table."""

    share: int
    packets: tuple[Packet, ...]
    client: int = DATA
    server: int = ANSWER
    row: Row | None = None


def _syn(option: str = "", size: int = DATA, wait: int = RTT) -> Packet:
    return Packet(wait, SYN, size=size, option=option)


def _syn_ack(ack: int, option: str = "", start: int = 0) -> Packet:
    return Packet(RTT, SYN | ACK, 0, 1 + ack, 0, option, True, start)


def _data(seq: int = 0) -> Packet:
    return Packet(9, ACK, 1 + seq, 1, DATA - seq)


def _answer(start: int = 0) -> Packet:
    return Packet(RTT, ACK, 1, 1 + DATA, ANSWER, "", True, start)


_RESET = Packet(9, RST, 1 + DATA)
_ACCEPTED = (_syn(COOKIE), _syn_ack(DATA), _answer())
_LATE = _syn(size=0, wait=TIMEOUT)

KINDS = {
    "": Kind(0, (_syn(size=0), _syn_ack(0), _data(), _answer())),
    "requested-granted": Kind(
        8, (_syn(REQUEST, 0), _syn_ack(0, COOKIE), _data(), _answer()), row=Row(1, 0, 0, 0, 0)
    ),
    "requested-not-granted": Kind(
        6, (_syn(REQUEST, 0), _syn_ack(0), _data(), _answer()), row=Row(1, 0, 0, 0, 0)
    ),
    "accepted": Kind(18, _ACCEPTED, row=Row(1, DATA, DATA, 0, 1)),
    "accepted-partially": Kind(
        2,
        (_syn(COOKIE), _syn_ack(PART), _data(PART), _answer()),
        row=Row(1, DATA, PART, DATA - PART, 0),
    ),
    "over-acknowledged": Kind(
        1,
        (
            _syn(COOKIE),
            _syn_ack(DATA + BEYOND),
            Packet(9, RST, 1 + DATA + BEYOND),
            _LATE,
            _syn_ack(DATA),
            _answer(),
        ),
        row=Row(1, DATA, DATA + BEYOND, 0, 0),
    ),
    "refused-cookie": Kind(
        3,
        (_syn(COOKIE), _syn_ack(0, ANOTHER), _data(), _answer()),
        row=Row(1, DATA, 0, DATA, 0),
    ),
    "refused-silently": Kind(
        3, (_syn(COOKIE), _syn_ack(0), _data(), _answer()), row=Row(1, DATA, 0, DATA, 0)
    ),
    "syn-lost-fallback": Kind(
        2, (_syn(COOKIE), _LATE, _syn_ack(0), _data(), _answer()), row=Row(1, DATA, 0, DATA, -1, 1)
    ),
    "syn-ack-lost": Kind(
        2, (_syn(COOKIE), _LATE, _syn_ack(DATA), _answer()), row=Row(1, DATA, DATA, 0, 0, 1)
    ),
    "cookieless-accepted": Kind(
        1, (_syn(), _syn_ack(DATA), _answer()), row=Row(1, DATA, DATA, 0, 1)
    ),
    "cookieless-refused": Kind(
        1, (_syn(), _syn_ack(0), _data(), _answer()), row=Row(1, DATA, 0, DATA, 0)
    ),
    "replayed": Kind(
        1,
        (*_ACCEPTED, _RESET, _syn(COOKIE), _syn_ack(DATA, start=7919), _answer(7919)),
        row=Row(1, DATA, DATA, 0, 0),
    ),
    "unknown": Kind(2, (_syn(COOKIE, 0), _syn_ack(0), _data(), _answer()), row=Row(1, 0, 0, 0, 0)),
}
"""By outcome; "" has none, and is in no table."""


def _whole(kind: Kind) -> tuple[Packet, ...]:
    """Its packets, followed by an exchange that ends the connection with the tenth."""
    start = kind.packets[-1].start
    client, server = 1 + kind.client, 1 + kind.server
    packets = list(kind.packets)
    while len(packets) < PACKETS - 3:
        from_server = bool(len(packets) % 2)
        at = (server, client) if from_server else (client, server)
        packets.append(Packet(RTT, ACK, *at, DATA, "", from_server, start if from_server else 0))
        if from_server:
            server += DATA
        else:
            client += DATA
    packets += (
        Packet(RTT, FIN | ACK, client, server),
        Packet(RTT, FIN | ACK, server, client + 1, 0, "", True, start),
        Packet(RTT, ACK, client + 1, server + 1),
    )
    return tuple(packets)


_MIX = [name for name, kind in KINDS.items() for _ in range(kind.share)]


def outcome_of(number: int, share: int = SHARE) -> str:
    """Of a connection: in every hundred so many with Fast Open, not in blocks."""
    place = number * 37 % 100
    if place >= share:
        return ""
    return _MIX[(number // 100 * share + place) * 7 % len(_MIX)]


def expected(connections: int, share: int = SHARE) -> dict[str, Row]:
    """The table that a capture of so many connections must give."""
    counts = Counter(outcome_of(number, share) for number in range(connections))
    return {
        name: Row(*(count * each for each in row))
        for name, count in counts.items()
        if (row := KINDS[name].row) is not None
    }


_RECORD = struct.Struct("<IIII")
_IPV4, _IPV6 = struct.Struct("!BBHHHBBH4s4s"), struct.Struct("!IHBB16s16s")
_TCP, _TIMES = struct.Struct("!HHIIHHHH"), struct.Struct("!HBBII")
_SYN_OPTIONS = bytes.fromhex("020405b4 0402 030307 010101")
_MACS = bytes.fromhex("020000000001 020000000002")


def _option(option: str, client: int) -> bytes:
    if not option:
        return b""
    if option == REQUEST:
        return b"\x22\x02\x01\x01"
    return b"\x22\x0a" + struct.pack("!II", client, len(option)) + b"\x01\x01"


def _frames(number: int, packets: tuple[Packet, ...]) -> Iterator[tuple[int, bytes]]:
    """Each packet's time since the connection began, in microseconds, and its frame."""
    client, server = number // CLIENT_OF, number % 7
    ports = 20000 + number % CLIENT_OF, 4433
    isns = number * 64007 & 0xFFFFFFFF, number * 75011 + 7 & 0xFFFFFFFF
    family = 6 if number % 5 == 4 else 4
    size = 16 if family == 6 else 4
    hosts = struct.pack("!I", 0x0A000000 + client), struct.pack("!I", 0xC6120000 + server)
    addresses = [b"\xfd\0".ljust(size - 4, b"\0") * (size > 4) + each for each in hosts]
    when = 0
    for each in packets:
        when += each.wait
        mine = each.is_answer
        options = _option(each.option, client)
        if each.flags & SYN:
            options = _SYN_OPTIONS + options
        else:
            options = _TIMES.pack(0x0101, 8, 10, when, when)
        seq, ack = isns[mine] + each.start + each.seq, isns[not mine] + each.ack
        flags = (20 + len(options)) << 10 | each.flags
        tcp = _TCP.pack(
            ports[mine],
            ports[not mine],
            seq & 0xFFFFFFFF,
            ack & 0xFFFFFFFF if each.flags & ACK else 0,
            flags,
            65535,
            0,
            0,
        )
        length = len(tcp) + len(options) + each.size
        ends = addresses[mine], addresses[not mine]
        if family == 4:
            head = _MACS + b"\x08\0" + _IPV4.pack(0x45, 0, 20 + length, 0, 0x4000, 64, 6, 0, *ends)
        else:
            head = _MACS + b"\x86\xdd" + _IPV6.pack(6 << 28, length, 6, 64, *ends)
        yield when, head + tcp + options + bytes(each.size)


def write_capture(path: Path, connections: int, share: int = SHARE) -> None:
    """Write a capture of so many connections, interleaved, of which `share` in a hundred use Fast
    Open; always the same. Raises OSError."""
    whole = {name: _whole(kind) for name, kind in KINDS.items()}
    began = 1_600_000_000_000_000
    numbers = iter(range(connections))
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 1))
        while together := list(islice(numbers, TOGETHER)):
            frames = [
                (began + at * 997 + when, number, frame)
                for at, number in enumerate(together)
                for when, frame in _frames(number, whole[outcome_of(number, share)])
            ]
            frames.sort(key=lambda each: each[:2])
            for when, _, frame in frames:
                seconds, microseconds = divmod(when, 1_000_000)
                file.write(_RECORD.pack(seconds, microseconds, len(frame), len(frame)) + frame)
            began = frames[-1][0] + RTT


def read_table(text: str) -> dict[str, Row]:
    """The rows of `-z tfo,outcome` that count any connection."""
    rows = {}
    for line in text.splitlines():
        name, *numbers = line.split() or [""]
        if name in KINDS and len(numbers) == len(Row._fields):
            rows[name] = Row(*(round(float(number)) for number in numbers))
    return {name: row for name, row in rows.items() if row.connections}
