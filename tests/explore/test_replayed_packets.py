"""The packets that `explore replay` prints have the numbers that findings have."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo.commands.explore.packets import Packets
from scapy_tfo.segment import ACK, PSH, SYN, Segment

CLIENT, SERVER = ip_address("192.0.2.16"), ip_address("192.0.2.1")
ISN, ISS = 0xFFFFFFF0, 5000
OURS = Segment(src=CLIENT, dst=SERVER, sport=40000, dport=80, seq=ISN, flags=SYN)
THEIRS = Segment(src=SERVER, dst=CLIENT, sport=80, dport=40000, seq=ISS, flags=SYN | ACK)


def shown(*segments: Segment) -> list[str]:
    packets = Packets()
    lines = [packets.line(0.0, each.to_bytes(), to_target=each.src == CLIENT) for each in segments]
    return [line.partition("target ")[2].strip() for line in lines]


def test_numbers_count_from_each_ends_isn() -> None:
    text = replace(OURS, flags=ACK | PSH, seq=(ISN + 1) % (1 << 32), ack=ISS + 1, payload=b"x" * 20)
    assert shown(OURS, replace(THEIRS, ack=(ISN + 1) % (1 << 32)), text) == [
        "S seq 0 len 0 win 65535",
        "S. seq 0 ack 1 len 0 win 65535",
        "P. seq 1 ack 1 len 20 win 65535",
    ]


def test_blocks_of_sack_and_timestamps_are_told() -> None:
    blocks = opt.RawOption(opt.SACK, 10, ISN.to_bytes(4, "big") + (4).to_bytes(4, "big"))
    options = opt.padded(opt.push_options([opt.timestamps(7, 9), blocks]))
    report = replace(THEIRS, flags=ACK, seq=ISS + 1, ack=ISN, options=options)
    assert shown(OURS, THEIRS, report)[2].endswith(" SACK=0:20 TS=7/9")


def test_without_a_syn_numbers_are_as_they_are() -> None:
    assert shown(replace(THEIRS, flags=ACK, ack=77)) == [". seq 5000 ack 77 len 0 win 65535"]


def test_what_is_no_segment_is_told_as_such() -> None:
    assert "[lost]" in Packets().line(0.5, b"\x45" + bytes(30), to_target=True, fate="lost")
