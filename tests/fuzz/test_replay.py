"""Findings that are run again, by `scapy-tfo fuzz replay` and by the tests exported from them."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import TargetError
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.regression import broken_by
from tests.fuzz.command_line import MUTANT, complaint, first, results

ELSEWHERE = "192.0.2.1:7"
"""No machine's address (RFC 5737), so nothing answers there and nothing is disturbed."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Campaigns write into a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a campaign at a stack that is wrong."""
    out = tmp_path_factory.mktemp("campaign")
    assert main(["fuzz", MUTANT, "--programs", "40", "--out", str(out), "--quiet"]) == 1
    return out


@pytest.fixture
def closed() -> Iterator[str]:
    """A port of this machine that nobody listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def raw_sockets() -> None:
    """Skip where packets cannot be sent by hand."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP).close()
    except PermissionError:
        pytest.skip("raw sockets need CAP_NET_RAW")


def named(campaign: Path) -> str:
    """The first finding, as names of tests have it."""
    return first(campaign).lower().replace("-", "_")


def exported_test(campaign: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run what was exported from the first finding."""
    (test,) = (campaign / "findings").glob(f"test_{named(campaign)}.py")
    return run_pytest(test, *options)


def run_pytest(test: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """How a file of tests ends."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_finding_is_replayed_from_the_store_and_from_its_file(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, store = first(campaign), str(campaign / "campaign.sqlite")
    assert main(["fuzz", "replay", name, "--store", store, "--json", "replay.json"]) == 1
    assert "run 3: ACC-2 refuses-text" in capsys.readouterr().out
    assert results(Path("replay.json"))["violations"][0]["requirement"] == "ACC-2"
    file = str(campaign / "findings" / f"{name}.json")
    assert main(["fuzz", "replay", file]) == 1
    assert main(["fuzz", "replay", file, "--target", "sim:reference"]) == 0
    assert "sim:reference did nothing wrong in 3 runs" in capsys.readouterr().out


def test_a_regression_test_fails_until_the_target_is_right(campaign: Path) -> None:
    wrong = exported_test(campaign)
    assert (wrong.returncode, "1 failed" in wrong.stdout) == (1, True), wrong.stdout
    assert "ACC-2: expected" in wrong.stdout
    right = exported_test(campaign, "--tfo-target", "sim:reference")
    assert (right.returncode, "1 passed" in right.stdout) == (0, True), right.stdout


@pytest.mark.usefixtures("raw_sockets")
class TestAClosedPort:
    """What cannot be judged is neither right nor wrong: exit status 3."""

    def test_has_no_findings(self, closed: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fuzz", closed, "--programs", "16", "--out", "out", "--quiet"]) == 3
        assert "the port is closed" in complaint(capsys)

    def test_is_not_said_to_be_right(
        self, closed: str, campaign: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = str(campaign / "findings" / f"{first(campaign)}.json")
        assert main(["fuzz", "replay", file, "--target", closed]) == 3
        assert "the port is closed" in complaint(capsys)

    def test_is_an_error_in_an_exported_test(self, closed: str, campaign: Path) -> None:
        ended = exported_test(campaign, "--tfo-target", closed)
        assert (ended.returncode, "1 error" in ended.stdout) == (1, True), ended.stdout
        assert "the port is closed" in ended.stdout
        assert "passed" not in ended.stdout
        assert "failed" not in ended.stdout


def test_a_program_that_cannot_be_judged_is_not_said_to_pass(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Verdict(unjudged="the target granted no cookie")
    monkeypatch.setattr(SimulatedBench, "trace", lambda *_: (told, ()))
    file = str(campaign / "findings" / f"{first(campaign)}.json")
    assert main(["fuzz", "replay", file]) == 3
    assert "granted no cookie" in complaint(capsys)
    with pytest.raises(TargetError, match="granted no cookie"):
        broken_by(json.dumps(results(Path(file))["reduced"]), "refuses-text", "sim:reference")


def test_a_target_that_a_replay_kills_did_something_wrong(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["", "it is gone"])
    monkeypatch.setattr(SimulatedBench, "alive", lambda _: next(answers))
    file = str(campaign / "findings" / f"{first(campaign)}.json")
    assert main(["fuzz", "replay", file, "--target", "sim:reference"]) == 1
    assert "run 1: robust stays-alive: it is gone" in capsys.readouterr().out


class TestATargetThatAFileNames:
    """Packets go to targets that the user named: a file names only those on this machine."""

    @pytest.fixture
    def file(self, campaign: Path, elsewhere: Path) -> Path:
        found = results(campaign / "findings" / f"{first(campaign)}.json")
        kept = elsewhere / "finding.json"
        kept.write_text(json.dumps(found | {"target": ELSEWHERE}), "utf-8")
        return kept

    def test_is_not_taken_from_a_finding(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["fuzz", "replay", str(file)]) == 2
        said = complaint(capsys)
        assert ELSEWHERE in said
        assert "--target" in said

    def test_is_not_taken_from_a_store(
        self, campaign: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = elsewhere / "kept.sqlite"
        shutil.copy(campaign / "campaign.sqlite", store)
        with closing(sqlite3.connect(store)) as database, database:
            database.execute("UPDATE finding SET target = ?", [ELSEWHERE])
        assert main(["fuzz", "replay", first(campaign), "--store", str(store)]) == 2
        assert "--target" in complaint(capsys)

    def test_is_not_taken_from_an_exported_test(self, campaign: Path, elsewhere: Path) -> None:
        (test,) = (campaign / "findings").glob(f"test_{named(campaign)}.py")
        kept = elsewhere / "test_kept.py"
        kept.write_text(test.read_text("utf-8").replace(MUTANT, ELSEWHERE), "utf-8")
        ended = run_pytest(kept)
        assert "1 error" in ended.stdout, ended.stdout
        assert "--tfo-target" in ended.stdout
