"""`fuzz report`: several nights in one table."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.findings.store import Store
from tests.fuzz.command_line import complaint
from tests.fuzz.fakes import FakeBench, Fault, make, plan, sends

RESETS = Fault(lambda program: any("R" in each.flags and each.size for each in sends(program)))


def night(path: Path, seed: int, *faults: Fault) -> Path:
    with closing(Store.create(path, plan(seed=seed))) as store:
        bench = FakeBench(faults)
        Campaign(store, make, bench, lambda: bench, programs=128).run()
    return path


def test_each_night_says_what_it_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = night(tmp_path / "1", 1), night(tmp_path / "2", 2, RESETS)
    assert main(["fuzz", "report", str(one), str(two), str(two)]) == 0
    _, first, second, again, *rest = capsys.readouterr().out.splitlines()
    assert first.split()[1] == "128"
    assert first.split()[-4] == first.split()[-3] != "0"
    assert first.split()[-2:] == ["0", "0"]
    assert second.split()[-2:] == ["1", "1"]
    assert again.split()[-3:] == ["0", "1", "0"]
    assert rest[0].endswith("1 findings in 3 campaigns")
    assert len(rest) == 2


def test_a_store_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuzz", "report", str(tmp_path / "none")]) == 2
    assert "there is no campaign at" in complaint(capsys)
