"""A target that floods: what is kept is bounded, that it was cut is told, and the run ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.executor import play
from scapy_tfo.pkt.remote import wire
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.suite import limits
from scapy_tfo.suite.switchboard import Switchboard
from tests.suite.test_switchboard import KEY, OURS, SYN_ACK, THEIRS, Clock, Listener

ONLY = ["--only", "ACC-2", "-4", "--quiet"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a short test reaches."""
    for name, value in {
        "MOST_KEPT": 1000,
        "MOST_HEARD": 50,
        "MOST_HELD": 500,
        "ALWAYS_HEARD": 5,
    }.items():
        monkeypatch.setattr(limits, name, value)


@pytest.mark.usefixtures("small")
def test_a_conversation_is_handed_so_much_and_the_capture_keeps_so_much() -> None:
    link, flow = Clock(), Listener()
    board = Switchboard(link)
    board.open(KEY, flow)
    for _ in range(5000):
        link.receive(SYN_ACK, 100.0)
    assert len(flow.numbers) == 50
    assert len(board.packets) == 1000
    assert board.bounds.flooded == {"a case"}
    cut, flooded = board.bounds.notes
    assert "4,000 packets came beyond the first 1,000" in cut
    assert "for 1 case(s)" in flooded


@pytest.mark.usefixtures("small")
def test_many_conversations_together_hold_so_much_and_each_gets_a_little() -> None:
    link = Clock()
    board = Switchboard(link)
    flows = []
    for number in range(30):
        flows.append(Listener())
        board.open((OURS[0], number + 1, *THEIRS), flows[-1])
    for _ in range(40):
        for number in range(30):
            packet = Segment(
                src=THEIRS[0],
                sport=THEIRS[1],
                dst=OURS[0],
                dport=number + 1,
                flags=SYN | ACK,
            )
            link.receive(packet.to_bytes(), 100.0)
    heard = [len(each.numbers) for each in flows]
    assert sum(heard) <= 500 + 30 * 5
    assert min(heard) >= 5
    board.close((OURS[0], 1, *THEIRS))
    late = Listener()
    board.open((OURS[0], 99, *THEIRS), late)
    assert board.bounds.hands((OURS[0], 99, *THEIRS), late.owner)


def multiplied(monkeypatch: pytest.MonkeyPatch, times: int, after: int = 30) -> None:
    """All that comes behind the first controls, `after` packets, comes so many times."""
    once = Switchboard._receive

    def often(self: Switchboard, data: bytes, when: float) -> None:
        for _ in range(times if len(self.packets) > after else 1):
            once(self, data, when)

    monkeypatch.setattr(Switchboard, "_receive", often)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("command", ["test", "client"])
def test_a_run_ends_and_says_that_it_was_cut(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = 30 if command == "test" else 70
    monkeypatch.setattr(limits, "MOST_KEPT", before + 30)
    multiplied(monkeypatch, 60, before)
    only = ONLY if command == "test" else ["--only", "CLI-2", "-4", "--quiet"]
    status = main([command, "sim:reference", *only, "--out", str(tmp_path)])
    assert status in (0, 1, 3)
    report = (tmp_path / "report.txt").read_text()
    assert "the capture was cut" in report
    assert "flooded: for" in report
    found = json.loads((tmp_path / "results.json").read_text())["results"]
    cut = [each for each in found if "may be in the rest" in each["reason"]]
    assert cut
    assert {each["verdict"] for each in cut} == {"inconclusive"}


def test_a_program_ends_under_a_flood_and_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(play, "MOST_HEARD", 3)
    fuzz = ["fuzz", "sim:reference", "--programs", "40", "--quiet", "--out", str(tmp_path)]
    assert main(fuzz) in (0, 1)
    assert "programs not judged" in capsys.readouterr().out


def test_a_script_ends_under_a_flood_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wire, "MOST_HEARD", 1)
    script = "packetdrill/remote/request-takes-no-data.pkt"
    assert main(["pkt", "run", script, "--target", "sim:reference"]) in (0, 1)
    assert "flooded: " in capsys.readouterr().out
