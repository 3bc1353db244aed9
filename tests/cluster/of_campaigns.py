"""Campaigns on a Dask cluster of this machine, which lose workers or are interrupted.

test_cluster.py runs these tests, in a process that Dask may leave its threads to.
"""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.cli import main
from scapy_tfo.cluster import connection
from scapy_tfo.cluster.connection import connected
from scapy_tfo.cluster.together import Together
from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.campaign import cluster
from scapy_tfo.fuzz.campaign.campaign import Progress
from scapy_tfo.fuzz.campaign.shard import Job, run_shard
from scapy_tfo.fuzz.campaign.together import summed
from scapy_tfo.fuzz.findings.merge import merge
from scapy_tfo.fuzz.findings.store import Store
from tests.cluster.workers import local, pids_at_work

__all__ = ["local"]

JOB = Job(target="sim:reference", seed=5, programs=384, batch=32)
SHARDS = 4


def test_the_shards_of_a_lost_worker_are_run_by_others(local: Any, tmp_path: Path) -> None:
    killed: list[int] = []
    with connected(local.scheduler_address) as client:

        def kill(_: cluster.Shard) -> None:
            at_work = pids_at_work(client)
            if not killed and at_work:
                killed.append(at_work[0])
                os.kill(at_work[0], signal.SIGKILL)

        kept, lost = cluster.run_on(client, JOB, SHARDS, tmp_path, kill)
    assert killed
    assert not lost
    assert sorted(each.number for each in kept) == [1, 2, 3, 4]
    (tmp_path / "whole.sqlite").write_bytes(run_shard(JOB, (1, 1), lambda _: False))
    with (
        closing(merge(tmp_path / "merged.sqlite", [each.path for each in kept])) as merged,
        closing(Store.open(tmp_path / "whole.sqlite")) as whole,
    ):
        one, other = merged.totals(), whole.totals()
        assert (one.programs, one.batches) == (other.programs, other.batches) == (384, 12)
        assert (one.seeded, one.mutated) == (other.seeded, other.mutated)


def test_ctrl_c_keeps_the_shards_that_came_back(local: Any, tmp_path: Path) -> None:
    def interrupt(_: cluster.Shard) -> None:
        raise KeyboardInterrupt

    with (
        connected(local.scheduler_address) as client,
        pytest.raises(KeyboardInterrupt),
    ):
        cluster.run_on(client, JOB, SHARDS, tmp_path, interrupt)
    assert list(tmp_path.glob("shard-*.sqlite"))


def test_from_the_command_line(
    local: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--scheduler", local.scheduler_address, "--out", str(tmp_path)]
    campaign = ["fuzz", "sim:data-is-not-acknowledged", "--programs", "64"]
    status = main([*campaign, "--shards", "1", *at])
    said = capsys.readouterr()
    assert status == 1, said.err
    assert "shard 1/1 has finished" in said.out
    found = json.loads((tmp_path / "results.json").read_text())
    assert (found["sequences"], found["ended"]) == (64, "finished")
    assert any(each["requirement"] == "ACC-2" for each in found["findings"])


def test_all_workers_are_one_view(local: Any, tmp_path: Path) -> None:
    heard: list[tuple[int, str]] = []

    def show(together: Together[Progress]) -> None:
        heard.append((summed(together).programs, str(together)))

    with connected(local.scheduler_address) as client:
        job = Job(target="sim:reference", seed=5, seconds=3.0, batch=32)
        kept, lost = cluster.run_on(client, job, 3, tmp_path, on_progress=show)
    assert not lost
    counts = [[int(each) for each in re.findall(r"\d+", words)] for _, words in heard]
    assert counts
    # Which shard begins when is the cluster's to say.
    assert all(of == 3 == ended + going + waiting for ended, of, going, waiting in counts)
    with closing(merge(tmp_path / "merged.sqlite", [each.path for each in kept])) as merged:
        assert 0 < max(programs for programs, _ in heard) <= merged.totals().programs


def test_a_target_that_is_none_is_told_at_once(local: Any, tmp_path: Path) -> None:
    with connected(local.scheduler_address) as client, pytest.raises(SetupError):
        cluster.run_on(client, Job(target="sim:no-such-thing", programs=64), 2, tmp_path)


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECTING", 0.3)
    with (
        pytest.raises(SetupError, match="no Dask scheduler answers at"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_what_only_one_machine_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    at = ["fuzz", "sim:reference", "--scheduler", "tcp://127.0.0.1:9"]
    assert main([*at, "--resume"]) == 2
    assert "--resume does not go with --scheduler" in capsys.readouterr().err
    assert main(["fuzz", "sim:reference", "--shards", "4"]) == 2
