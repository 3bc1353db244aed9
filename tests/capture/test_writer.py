"""Captures, read back with tshark."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import pytest

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.segment import SYN, Segment

V4, V6 = ip_address("192.0.2.7"), ip_address("2001:db8::7")


@dataclass(frozen=True)
class Packet:
    when: float
    outbound: bool
    data: bytes
    comment: str


def _tshark(path: Path, *fields: str) -> list[list[str]]:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    command = ["tshark", "-r", str(path), "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    # tshark 4.0 crashes where it may not read its user's home.
    run = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(path.parent)},
    )
    return [line.split("\t") for line in run.stdout.splitlines()]


def test_comments_directions_and_both_families(tmp_path: Path) -> None:
    first = Segment(src=V4, dst=V4, sport=5000, dport=80, flags=SYN, payload=b"odd")
    second = Segment(src=V6, dst=V6, sport=80, dport=5000, flags=SYN)
    capture = tmp_path / "capture.pcapng"
    write_pcapng(
        capture,
        [
            Packet(1764000000.123456, True, first.to_bytes(), "acc-2: request, naïve"),
            Packet(1764000000.5, False, second.to_bytes(), ""),
        ],
        interface="tap0",
        comment="a run",
    )
    fields = (
        "frame.comment",
        "frame.packet_flags_direction",
        "frame.time_epoch",
        "frame.interface_name",
        "ip.src",
        "ipv6.src",
        "tcp.dstport",
    )
    assert _tshark(capture, *fields) == [
        [
            "acc-2: request, naïve",
            "0x00000002",
            "1764000000.123456000",
            "tap0",
            "192.0.2.7",
            "",
            "80",
        ],
        ["", "0x00000001", "1764000000.500000000", "tap0", "", "2001:db8::7", "5000"],
    ]


def test_a_comment_that_is_too_long_is_cut(tmp_path: Path) -> None:
    packet = Packet(0.0, True, Segment(src=V4, dst=V4, sport=1, dport=2).to_bytes(), "x" * 70000)
    write_pcapng(tmp_path / "long.pcapng", [packet, packet])
    assert [len(row[0]) for row in _tshark(tmp_path / "long.pcapng", "frame.comment")] == [
        65532
    ] * 2


def test_an_empty_capture_is_a_capture(tmp_path: Path) -> None:
    write_pcapng(tmp_path / "empty.pcapng", [])
    assert _tshark(tmp_path / "empty.pcapng", "frame.number") == []
