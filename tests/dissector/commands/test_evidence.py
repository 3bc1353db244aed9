"""Evidence of a failed case: the command that shows its packets, and the comments on them."""

from __future__ import annotations

import re
import shlex
import subprocess
from html import unescape
from pathlib import Path

import pytest

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.cli import main
from scapy_tfo.report import commands
from scapy_tfo.report.commands import tshark_command
from scapy_tfo.suite.result import label_of

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


@pytest.fixture(params=[False, True], ids=["by name", "handed open"])
def root_is_refused(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both forms of the command, each of which every tshark can run."""
    is_refused: bool = request.param
    monkeypatch.setattr(commands, "_root_is_refused", lambda: is_refused)
    return is_refused


def commands_in(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if " -Y 'frame.number in" in line]


def fields(command: str, *names: str, cwd: Path | None = None) -> dict[str, list[str]]:
    """What a shell makes of a command with these fields in addition, by the frame's number."""
    wanted = shlex.join(word for name in ("frame.number", *names) for word in ("-e", name))
    done = subprocess.run(
        ["sh", "-c", f"{command} -T fields {wanted}"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split("\t")[0]: line.split("\t")[1:] for line in done.stdout.splitlines()}


@pytest.mark.usefixtures("tshark", "root_is_refused")
def test_the_command_shows_just_the_packets_of_the_case(run: Path) -> None:
    (command,) = commands_in((run / "report.txt").read_text())
    shown = fields(command, "frame.comment", cwd=run)
    of_case = {
        str(frame.number): [frame.comment]
        for frame in read_frames(run / "capture.pcapng")
        if f" {CASE} [ipv4]" in frame.comment
    }
    assert shown == of_case
    told = "FAIL: SYN data acknowledged on a wrong cookie"
    assert any(told in comment for (comment,) in shown.values())


@pytest.mark.usefixtures("tshark")
def test_the_plugin_speaks_to_whoever_runs_the_command(run: Path) -> None:
    """Root's tshark passes over it since 4.4; a user must not need the way to root's files."""
    (command,) = commands_in((run / "report.txt").read_text())
    run.chmod(0o700)
    assert ["accepted"] in fields(command, "tfo.outcome", cwd=run).values()


def test_the_page_and_the_terminal_have_it_too(run: Path) -> None:
    (command,) = commands_in((run / "report.txt").read_text())
    (in_terminal,) = commands_in((run / "terminal.txt").read_text())
    assert in_terminal.count(str(run)) == 2
    by_name = in_terminal.replace(f"'lua_script:{run}/tfo.lua'", "lua_script:tfo.lua")
    assert re.sub(rf"'{run}/(capture\.pcapng|tfo\.lua)'", r"\1", by_name) == command
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
def test_numbers_are_written_as_ranges(
    numbers: list[int], written: str, root_is_refused: bool
) -> None:
    command = tshark_command(Path("a b.pcapng"), numbers, "X-1 [ipv4]")
    if root_is_refused:
        head, tail = "tshark -r - -X lua_script:/dev/fd/3", " 3<tfo.lua <'a b.pcapng'"
    else:
        head, tail = "tshark -r 'a b.pcapng' -X lua_script:tfo.lua", ""
    assert command.endswith(f"{head} -Y 'frame.number in {written}'{tail}")
    assert command.startswith("tshark" if not root_is_refused else "$(test $(id -u) != 0 ||")


@pytest.mark.usefixtures("tshark", "root_is_refused")
def test_too_many_ranges_give_way_to_the_comment(run: Path) -> None:
    command = tshark_command(run / "capture.pcapng", range(1, 1000, 2), f"{CASE} [ipv4]")
    assert f"""-Y 'frame.comment contains "{CASE} [ipv4]"'""" in command
    assert fields(command)


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
