"""From a failed case to its packets: the command that is printed, and the comments it meets."""

from __future__ import annotations

import re
import shlex
import subprocess
from html import unescape
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.dissector import files
from scapy_tfo.report.commands import tshark_command
from scapy_tfo.suite.result import label_of
from scapy_tfo.wire.capture_file import read_frames

CASE = "ACC-8.repeated-syn-ack-to-a-wrong-cookie-is-bare"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """The directory of a run in which one case fails and one passes, with what the terminal showed
    in it; its path has a blank."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "a run"
    asked = ["--only", f"{CASE},ACC-2.answer-comes-before-our-ack", "--strict", "-4"]
    assert main(["test", "sim:accepts-any-cookie", *asked, "--quiet", "--out", str(place)]) == 1
    (place / "terminal.txt").write_text(capsys.readouterr().out)
    return place


def commands_in(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("tshark -r")]


def test_the_command_shows_just_the_packets_of_the_case(run: Path, tshark: str) -> None:
    (command,) = commands_in((run / "report.txt").read_text())
    words = shlex.split(command)
    assert words[0] == "tshark"
    more = ["-T", "fields", "-e", "frame.number", "-e", "frame.comment"]
    done = subprocess.run([tshark, *words[1:], *more], capture_output=True, text=True, check=True)
    shown = dict(line.split("\t") for line in done.stdout.splitlines())
    of_case = {
        str(frame.number): frame.comment
        for frame in read_frames(run / "capture.pcapng")
        if f" {CASE} [ipv4]" in frame.comment
    }
    assert shown == of_case
    assert any("FAIL: SYN data acknowledged on a wrong cookie" in each for each in shown.values())


def test_the_page_and_the_terminal_have_it_too(run: Path) -> None:
    (command,) = commands_in((run / "report.txt").read_text())
    assert commands_in((run / "terminal.txt").read_text()) == [command]
    assert command in unescape((run / "report.html").read_text())


def test_comments_tell_cases_and_verdicts(run: Path) -> None:
    frames = list(read_frames(run / "capture.pcapng"))
    verdicts = [match[0] for each in frames if (match := re.search(r"; [A-Z]+: ", each.comment))]
    assert verdicts.count("; PASS: ") == 1
    assert verdicts.count("; FAIL: ") >= 1


def test_the_file_opens_with_the_verdict_of_the_run(run: Path) -> None:
    head = (run / "capture.pcapng").read_bytes()[:400]
    assert b"at sim:accepts-any-cookie: 1 fail, 1 pass - exit 1: a requirement failed" in head


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ([7], "{7}"),
        ([1, 2, 3, 7], "{1..3, 7}"),
        ([2, 3], "{2..3}"),
    ],
)
def test_numbers_are_written_as_ranges(numbers: list[int], written: str) -> None:
    words = shlex.split(tshark_command(Path("a.pcapng"), numbers, "X-1 [ipv4]"))
    assert words == [
        *("tshark", "-r", "a.pcapng", "-X", f"lua_script:{files.plugin()}"),
        *("-Y", f"frame.number in {written}"),
    ]


def test_too_many_ranges_give_way_to_the_comment(tshark: str, run: Path) -> None:
    capture = run / "capture.pcapng"
    words = shlex.split(tshark_command(capture, range(1, 1000, 2), f"{CASE} [ipv4]"))
    assert words[-1] == f'frame.comment contains "{CASE} [ipv4]"'
    done = subprocess.run([tshark, *words[1:]], capture_output=True, text=True, check=True)
    assert done.stdout


@pytest.mark.parametrize(
    ("comment", "label"),
    [
        ("sent by ACC-2.valid [ipv4]", "ACC-2.valid [ipv4]"),
        ("for ACC-2.valid [ipv6], attempt 2: again; PASS: well", "ACC-2.valid [ipv6]"),
        ("for no case (its flow is closed)", ""),
        ("sent by control handshake", ""),
        ("", ""),
    ],
)
def test_the_case_of_a_packet(comment: str, label: str) -> None:
    assert label_of(comment) == label
