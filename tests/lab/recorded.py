"""Records the packets of a link, and shows what tshark reads in them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.segment import Segment
from scapy_tfo.wire.link import Link, Receiver


@dataclass(frozen=True)
class Packet:
    when: float
    outbound: bool
    data: bytes
    comment: str = ""


class Recorded:
    """A link that remembers what goes through it."""

    def __init__(self, link: Link) -> None:
        self.packets: list[Packet] = []
        self._link = link

    def start(self, receive: Receiver) -> None:
        def arrived(packet: bytes, when: float) -> None:
            self.packets.append(Packet(when, False, packet))
            receive(packet, when)

        self._link.start(arrived)

    def send(self, packet: bytes) -> None:
        self.packets.append(Packet(self._link.now(), True, packet))
        self._link.send(packet)

    @property
    def segments(self) -> list[Segment]:
        return [Segment.from_bytes(each.data) for each in self.packets]

    def of_port(self, port: int) -> list[Segment]:
        """The segments of one connection, by the client's port."""
        return [each for each in self.segments if port in (each.sport, each.dport)]

    def connections(self) -> list[list[Segment]]:
        """The segments of each connection, in the order in which they began."""
        ports = dict.fromkeys(each.sport for each in self.segments if each.is_syn)
        return [self.of_port(port) for port in ports]


def seen_by_tshark(path: Path, recorded: Recorded, *fields: str) -> list[tuple[str, ...]]:
    """These fields of every packet, as tshark reads them from a pcapng."""
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    write_pcapng(path, recorded.packets)
    wanted = [word for each in fields for word in ("-e", each)]
    said = subprocess.run(
        [tshark, "-n", "-r", str(path), "-T", "fields", *wanted],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [tuple(line.split("\t")) for line in said.splitlines()]
