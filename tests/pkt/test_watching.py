"""Scripts whose connections are held against the rules of plain TCP (`pkt run --watch`)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo import option as opt
from scapy_tfo.address import known_address
from scapy_tfo.cli import main
from scapy_tfo.pkt.play.outcome import Outcome, Packet
from scapy_tfo.pkt.watching import Setting, watched
from scapy_tfo.segment import ACK, PSH, SYN, Segment

SCRIPT, KERNEL = known_address(bytes([192, 0, 2, 1])), known_address(bytes([192, 168, 0, 1]))
TO = Segment(src=SCRIPT, dst=KERNEL, sport=5000, dport=80, seq=100)
FROM = Segment(src=KERNEL, dst=SCRIPT, sport=80, dport=5000, seq=900)
MSS = opt.push_options([opt.mss(1460)])
DIRECT = Setting(direct=True)


def outcome(*segments: Segment) -> Outcome:
    """A millisecond between each two."""
    found = Outcome()
    for number, each in enumerate(segments):
        packet = Packet(number * 1_000_000, each.src == SCRIPT, each.to_bytes())
        found.packets.append(packet)
    return found


OPENED = (
    replace(TO, flags=SYN, options=MSS),
    replace(FROM, flags=SYN | ACK, ack=101, options=MSS),
    replace(TO, flags=ACK, seq=101, ack=901),
)


def test_what_the_kernel_acknowledges_though_nobody_sent_it() -> None:
    wrong = replace(FROM, flags=ACK, seq=901, ack=105)
    found, held = watched(outcome(*OPENED, wrong), DIRECT, "a script")
    assert [(each.rule, each.packet, each.owner) for each in found] == [
        ("ack-of-nothing", 4, "a script")
    ]
    assert held["ack-of-nothing"] == 2


def test_packets_that_were_read_late_are_put_in_their_order() -> None:
    text = replace(TO, flags=ACK | PSH, seq=101, ack=901, payload=b"abcd")
    answer = replace(FROM, flags=ACK, seq=901, ack=105)
    right = outcome(*OPENED, text, answer)
    right.packets.insert(0, right.packets.pop())
    assert watched(right, DIRECT, "a script")[0] == ()


def test_the_script_itself_may_do_anything() -> None:
    wrong = replace(TO, flags=PSH, seq=7, ack=99, reserved=3)
    assert watched(outcome(*OPENED, wrong), DIRECT, "a script")[0] == ()


def test_a_flood_of_which_only_a_part_was_read() -> None:
    wrong = replace(FROM, flags=ACK, seq=901, ack=105)
    setting = Setting(direct=True, whole=False)
    assert watched(outcome(*OPENED, wrong), setting, "a script")[0] == ()


def test_a_target_that_breaks_a_rule_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pkt", "run", "--watch", "--quiet", "--only", "ACC-2", "--json"]
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    assert main([*words, str(good), "--target", "sim:reference"]) == 0
    assert "breaks" not in capsys.readouterr().out
    assert len(json.loads(good.read_text())["watched"]) >= 25
    assert main([*words, str(bad), "--target", "sim:acks-one-byte-too-many"]) == 1
    assert "breaks TCP-ACK-1 ack-of-nothing" in capsys.readouterr().out
    cases = [each["case"] for each in json.loads(bad.read_text())["results"]]
    assert "TCP-ACK-1.ack-of-nothing" in cases


def test_packetdrill_itself_cannot_be_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pkt", "run", "--watch", "--engine", "packetdrill"]) == 2
    assert "--watch needs this project's own engine" in capsys.readouterr().err
