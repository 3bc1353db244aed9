"""Captures of conversations that are written packet by packet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo import option as opt
from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

COOKIE, ANOTHER = bytes(range(1, 9)), bytes(range(11, 19))
DATA = b"twenty bytes of data"
ANSWER = b"an answer"
PORT = 4433
ADDRESSES = {4: ("192.0.2.1", "198.51.100.2"), 6: ("2001:db8::1", "2001:db8:0:2::2")}
RTT, TIMEOUT = 0.02, 1.0
_BEGAN = 1_700_000_000.0
_ISN, _SERVER_ISN = 0xFFFFFFF0, 70_000
"""The client's wraps within the data."""


@dataclass(frozen=True)
class Packet:
    when: float
    data: bytes
    outbound: bool
    comment: str = ""


def fast_open(cookie: bytes | None, form: opt.Form = opt.Form.IANA) -> bytes:
    """An options field with the option; None for one without it."""
    found = [opt.mss(1460)]
    if cookie is not None:
        found.append(opt.fast_open(cookie, form=form))
    return opt.padded(opt.push_options(found), opt.NOP)


@dataclass
class Talk:
    """A connection's packets, each a round trip behind the last unless told otherwise.

    stamped: with timestamps, of a millisecond. echo: TSecr of the next packet, where it is not the
    TSval that the other side sent last. hops: left in the packets of the client and of the server.
    isn: of the client.
    """

    sport: int = 40000
    family: int = 4
    client: str = ""
    when: float = _BEGAN
    packets: list[Packet] = field(default_factory=list)
    stamped: bool = False
    echo: int | None = None
    hops: tuple[int, int] = (64, 64)
    isn: int = _ISN
    stamps: list[int] = field(default_factory=lambda: [0, 0])

    def stamp(self, here: int) -> bytes:
        """The timestamps of a packet of the client (0) or of the server (1)."""
        value = round(self.when * 1000) + here * 12_345 & 0xFFFFFFFF
        echo = self.stamps[1 - here] if self.echo is None else self.echo
        self.echo, self.stamps[here] = None, value
        return opt.push_options([opt.nop(), opt.nop(), opt.timestamps(value, echo)])

    def say(
        self, outbound: bool, flags: int, seq: int, ack: int, options: bytes, data: bytes
    ) -> None:
        client, server = ADDRESSES[self.family]
        ends = ip_address(self.client or client), ip_address(server)
        ports = self.sport, PORT
        here = 0 if outbound else 1
        if self.stamped:
            options = self.stamp(here) + options
        segment = Segment(
            hop_limit=self.hops[here],
            ip_id=len(self.packets) + 1 if self.family == 4 else 0,
            src=ends[here],
            dst=ends[1 - here],
            sport=ports[here],
            dport=ports[1 - here],
            seq=seq % 2**32,
            ack=ack % 2**32 if flags & ACK else 0,
            flags=flags,
            options=options,
            payload=data,
        )
        self.packets.append(Packet(self.when, segment.to_bytes(), outbound))
        self.when += RTT

    def syn(
        self, cookie: bytes | None = None, data: bytes = b"", *, options: bytes | None = None
    ) -> None:
        self.say(True, SYN, self.isn, 0, fast_open(cookie) if options is None else options, data)

    def syn_ack(
        self,
        acked: int = 0,
        cookie: bytes | None = None,
        *,
        isn: int = _SERVER_ISN,
        options: bytes | None = None,
    ) -> None:
        options = fast_open(cookie) if options is None else options
        self.say(False, SYN | ACK, isn, self.isn + 1 + acked, options, b"")

    def data(self, data: bytes = b"", at: int = 0, *, options: bytes = b"") -> None:
        """From the client; at: bytes of the stream before it."""
        self.say(True, ACK, self.isn + 1 + at, _SERVER_ISN + 1, options, data)

    def answer(
        self, data: bytes = ANSWER, acked: int = len(DATA), *, isn: int = _SERVER_ISN
    ) -> None:
        self.say(False, ACK, isn + 1, self.isn + 1 + acked, b"", data)

    def reset(self) -> None:
        """From the server, to the SYN."""
        self.say(False, RST | ACK, 0, self.isn + 1, b"", b"")

    def unreachable(self, kind: int, code: int) -> None:
        """From the server: an ICMP error about the SYN, of which it quotes what RFC 792 demands."""
        syn = self.packets[0].data
        error = bytes([kind, code]) + bytes(6) + syn[: 28 if self.family == 4 else 48]
        if self.family == 4:
            head = b"\x45\x00" + (20 + len(error)).to_bytes(2, "big") + bytes(4) + b"\x40\x01\0\0"
            head += syn[16:20] + syn[12:16]
        else:
            head = b"\x60\0\0\0" + len(error).to_bytes(2, "big") + b"\x3a\x40"
            head += syn[24:40] + syn[8:24]
        self.packets.append(Packet(self.when, head + error, outbound=False))

    def close(self) -> None:
        self.say(True, FIN | ACK, self.isn + 1 + len(DATA), _SERVER_ISN + 1, b"", b"")

    def wait(self) -> None:
        """Until the client's SYN is sent again."""
        self.when += TIMEOUT - RTT


def write(path: Path, talks: Iterable[Talk]) -> Path:
    """A capture of all of them, in the order of time."""
    packets = sorted((each for talk in talks for each in talk.packets), key=lambda each: each.when)
    write_pcapng(path, packets)
    return path


def talk(*said: Callable[[Talk], None], **known: object) -> Talk:
    """A connection in which all that is said in turn."""
    made = Talk(**known)  # type: ignore[arg-type]
    for each in said:
        each(made)
    return made
