"""Exit statuses of what is neither a verdict nor wrong usage."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import scapy_tfo
from scapy_tfo.cli import main
from scapy_tfo.commands import listing, terminal
from scapy_tfo.commands.crash import STATUS
from scapy_tfo.pkt.library import own_directory
from scapy_tfo.report.journal import NAME as JOURNAL
from scapy_tfo.report.output import REPORTS

TEST = ("test", "sim:reference", "--only", "OPT")
STATUSES = ("0", "1", "2", "3", "70", "130", "141")
CASES = r"of [1-9]\d* cases was judged"
SCRIPT = own_directory() / "remote" / "cookie-without-data-opens-as-usual.pkt"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Reports go into a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("what nobody\x1b[2J thought of")

    monkeypatch.setattr(listing, "print_cases", fail)
    monkeypatch.setattr(terminal, "run", fail)


def report_of(capsys: pytest.CaptureFixture[str]) -> Path:
    """The file that the one line on standard error names."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scapy-tfo: internal error (KeyError: ")
    assert "\x1b" not in line
    named = re.search(r"report it, with the file (\S+)$", line)
    assert named is not None
    return Path(named[1])


@pytest.mark.usefixtures("broken")
def test_an_error_of_ours_is_status_70_and_names_a_file_to_send(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--only", "ACC-2"]) == STATUS == 70
    report = report_of(capsys)
    assert report.parent == elsewhere
    told = report.read_text("utf-8")
    assert f"scapy-tfo {scapy_tfo.__version__}, Python 3." in told
    assert "command: scapy-tfo list --only ACC-2\n" in told
    assert "Traceback (most recent call last):" in told
    assert "\x1b" not in told


@pytest.mark.usefixtures("broken")
def test_its_report_goes_into_the_output_directory(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = elsewhere / "out"
    out.mkdir()
    assert main([*TEST, "--out", str(out), "--quiet"]) == STATUS
    assert report_of(capsys).parent == out


@pytest.mark.usefixtures("broken")
def test_it_is_told_where_no_file_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/self")
    assert main(["list"]) == STATUS
    assert "Traceback (most recent call last):" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["", "test", "client", "pkt", "pkt run", "fuzz"], ids=lambda each: each or "main"
)
def test_help_names_each_status(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out.partition("exit status:")[2].split()
    assert [each for each in STATUSES if each not in told] == []


@pytest.mark.parametrize("document", ["README", "docs/fuzzing", "docs/scripts"])
def test_documents_name_each_status(document: str) -> None:
    text = (Path(__file__).parents[1] / f"{document}.md").read_text("utf-8")
    told = re.search(r"Exit\s+status[^:]*:(.*?)\.(\s|$)", text, re.DOTALL)
    assert told is not None
    assert [each for each in STATUSES if each not in told[1].split()] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
@pytest.mark.parametrize("how", ["| head -n 1", "| true", "2>&1 | true"])
@pytest.mark.parametrize(
    "command", ["list", "spec", "--help", " ".join(TEST), "test sim:accepts-any-cookie --only ACC"]
)
def test_a_reader_that_leaves_is_no_failure(command: str, how: str) -> None:
    ours = f"{sys.executable} -m scapy_tfo {command}"
    ended = subprocess.run(
        ["bash", "-c", f"{ours} {how} > head.txt; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    own = 1 if "any-cookie" in command else 0
    assert int(ended.stdout) in (own, 141)
    if "any-cookie" not in command:
        assert ended.stderr == ""


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (
            "test sim:reference -4 --only OPT-1 --quiet --out out --json a.json --junit a.xml",
            (*(f"out/{each}" for each in REPORTS), "a.json", "a.xml"),
        ),
        (
            "client sim:reference -4 --only CLI-1 --quiet --out out",
            tuple(f"out/{each}" for each in REPORTS),
        ),
        (
            f"pkt run {SCRIPT} --target sim:reference --quiet --out out --json a.json",
            (*(f"out/{each}" for each in REPORTS), "a.json"),
        ),
        ("soak sim:reference --only OPT-1 --runs 2 --jobs 1 --quiet --json a.json", ("a.json",)),
        ("path sim:none -4 --json a.json", ("a.json",)),
    ],
    ids=lambda each: each.split()[0] if isinstance(each, str) else "",
)
def test_a_reader_that_leaves_takes_no_report(
    command: str, files: Sequence[str], elsewhere: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "scapy_tfo", *command.split()],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")
    assert [each for each in files if not (elsewhere / each).stat().st_size] == []
    assert not list(elsewhere.glob(f"out/{JOURNAL}"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("families", [(), ("-4",)])
@pytest.mark.usefixtures("elsewhere")
def test_a_reader_that_leaves_cases_under_way_reads_of_no_fault(families: Sequence[str]) -> None:
    reading, writing = os.pipe()
    ours = (sys.executable, "-m", "scapy_tfo", "test", "lab:linux", "--only", "OPT", *families)
    process = subprocess.Popen(ours, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert os.read(reading, 1)
    os.close(reading)
    _, complaint = process.communicate()
    assert (process.returncode, complaint) == (141, "")


def test_ctrl_c_while_the_summary_is_told_takes_no_report(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(terminal, "print_summary", interrupted)
    assert main([*TEST, "--quiet", "--out", "out"]) == 130
    assert capsys.readouterr().err == "scapy-tfo: interrupted; the reports are in out\n"
    assert {each.name for each in (elsewhere / "out").iterdir()} == set(REPORTS)


@pytest.mark.parametrize(
    ("command", "where", "none"),
    [
        ("test sim:reference --only OPT-1", "commands.terminal.judge_once", CASES),
        ("client sim:reference --only CLI-2", "commands.client._judged", CASES),
        (
            f"pkt run {SCRIPT} --target sim:reference --rounds 3",
            "commands.pkt.run._judge",
            "of 3 scripts was run",
        ),
        ("soak sim:reference --runs 2 --jobs 1", "trust.soak.run", "of 2 runs had ended"),
    ],
    ids=lambda each: each.split()[0],
)
def test_ctrl_c_before_the_first_result_says_that_there_is_none(
    command: str,
    where: str,
    none: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"scapy_tfo.{where}", interrupted)
    assert main(command.split()) == 130
    told = capsys.readouterr().err
    assert re.fullmatch(f"scapy-tfo: interrupted: none {none}; nothing is left behind\n", told)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is missing")
@pytest.mark.parametrize("command", ["list", " ".join(TEST)])
def test_an_output_without_room_is_told(command: str) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "scapy_tfo", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2, ended.stderr
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
