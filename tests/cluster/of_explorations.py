"""Explorations on a Dask cluster of this machine, which lose workers or are interrupted.

test_cluster.py runs these tests, in a process that Dask may leave its threads to.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.cli import main
from scapy_tfo.cluster.connection import connected
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.campaign.cluster import Outcome, empty, explore_on
from scapy_tfo.explore.campaign.jobs import Request, joined, part
from scapy_tfo.explore.campaign.store import Store
from scapy_tfo.explore.explorer import Result
from tests.cluster.workers import local, pids_at_work

__all__ = ["local"]

REFERENCE, WRONG = "sim:reference", "sim:accepts-any-cookie"
PARTS = 1024
"""So many that one of them is done within seconds."""
SMALL = (900, 901, 902, 903)
REQUEST = Request("reference", seed=3, faults=0, strength=1)


def without(path: Path, left: Iterable[int]) -> Request:
    """A request whose store has nothing left but these parts, counted from 0."""
    request = replace(REQUEST, store=path, resume=True)
    with closing(Store(path, request.plan, resume=False)) as store:
        store.put(0, Result(REFERENCE, 3))
    numbers = [(each,) for each in range(1, PARTS)]
    with closing(sqlite3.connect(path)) as database, database:
        database.executemany("INSERT INTO parts SELECT ?, result FROM parts LIMIT 1", numbers)
        database.executemany("DELETE FROM parts WHERE part = ?", [(each,) for each in left])
    return request


def explored(
    address: str,
    request: Request,
    said: Callable[[Any, str], None] = lambda _client, _line: None,
    parts: int = PARTS,
) -> Outcome:
    outcome = Outcome(empty(REFERENCE, request))
    with connected(address) as client:
        explore_on(client, REFERENCE, request, parts, outcome, lambda line: said(client, line))
    return outcome


def test_the_parts_of_a_lost_worker_are_explored_by_others(local: Any, tmp_path: Path) -> None:
    some = SMALL
    request = without(tmp_path / "store", some)
    killed: list[int] = []

    def kill(client: Any, _: str) -> None:
        # Words come in a thread that must not wait for the cluster.
        if threading.current_thread() is threading.main_thread() and not killed:
            for pid in pids_at_work(client)[:1]:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    outcome = explored(local.scheduler_address, request, kill)
    assert killed
    assert outcome.lost == []
    here = joined(request, [part(REQUEST, each, PARTS, lambda _: False) for each in some])
    assert here.total > 50
    assert outcome.result.played == here.played
    assert sorted(outcome.result.covered.met) == sorted(here.covered.met)
    with closing(Store(tmp_path / "store", request.plan, resume=True)) as kept:
        assert sum(each.total for each in kept.parts().values()) == here.total
    again = explored(local.scheduler_address, request)
    assert again.result.played == here.played


def test_all_workers_are_one_view(local: Any, tmp_path: Path) -> None:
    lines: list[str] = []
    request = without(tmp_path / "store", SMALL)
    outcome = explored(local.scheduler_address, request, lambda _, line: lines.append(line))
    assert all(
        re.search(r" schedules/s, 0 findings; \d of 4 shards ended, ", each) for each in lines
    )
    assert lines[-1].endswith("4 of 4 shards ended, 0 under way, 0 waiting")
    assert outcome.result.complete


def test_time_is_that_of_all_parts(local: Any) -> None:
    request = replace(REQUEST, seconds=0.0)
    outcome = explored(local.scheduler_address, request, parts=4)
    assert not outcome.result.complete
    assert outcome.lost == []


def test_ctrl_c_keeps_what_came_back(local: Any, tmp_path: Path) -> None:
    request = without(tmp_path / "store", SMALL)
    outcome = Outcome(empty(REFERENCE, request))

    def interrupt(_: str) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with connected(local.scheduler_address) as client, pytest.raises(KeyboardInterrupt):
        explore_on(client, REFERENCE, request, PARTS, outcome, interrupt)
    assert outcome.result.total > 0
    with closing(Store(tmp_path / "store", request.plan, resume=True)) as kept:
        assert any(each.total for each in kept.parts().values())


def test_from_the_command_line(
    local: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "told.json"
    at = ["--scheduler", local.scheduler_address, "--out", str(tmp_path), "--json", str(told)]
    status = main(["explore", WRONG, "--first", "--shards", "2", *at])
    said = capsys.readouterr()
    assert status == 1, said.err
    found = json.loads(told.read_text())
    assert found["schedules"] > 0
    assert not found["complete"]
    assert found["findings"]
    assert "explore replay" in said.out
    assert list(tmp_path.glob("*.pcapng"))


def test_a_target_that_is_none_is_told_at_once(local: Any) -> None:
    request = replace(REQUEST, target="no-such-thing")
    outcome = Outcome(empty("sim:no-such-thing", request))
    with connected(local.scheduler_address) as client, pytest.raises(SetupError):
        explore_on(client, "sim:no-such-thing", request, 2, outcome)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["sim:reference", "--shards", "2"], "--shards needs --scheduler"),
        (["sim:reference", "--scheduler", "x", "--jobs", "2"], "--jobs does not go with"),
        (["sim:reference", "--scheduler", "x", "--shard", "1/2"], "--shard does not go with"),
        (["127.0.0.1:7", "--scheduler", "x"], "one for all"),
        (
            ["sim:reference", "--scheduler", "x", "--store", "s", "--shards", "2"],
            "parts of its own",
        ),
    ],
)
def test_options_that_do_not_go_together_are_told(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", *arguments]) == 2
    assert why in capsys.readouterr().err
