"""Explorations that are kept in a file: they go on where they ended, part by part."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.campaign import jobs
from scapy_tfo.explore.campaign.files import result_json
from scapy_tfo.explore.campaign.jobs import Request, explored
from scapy_tfo.explore.campaign.store import Store
from scapy_tfo.explore.explorer import Explorer, Result
from scapy_tfo.explore.stages.plan import cells

WRONG = "accepts-any-cookie"
CELLS = cells()[:2]
PLAN = {"target": WRONG, "seed": 3}


def some(name: str, plays: int) -> Result:
    explorer = Explorer(name, seed=3, stop=lambda: explorer.result.total >= plays)
    return explorer.explore()


def told(result: Result) -> dict[str, object]:
    return {**result_json(result), "pairs": result.covered.pairs()}


def test_what_a_part_showed_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store"
    result = some(WRONG, 150)
    assert result.found != {}
    result.complete = True
    with closing(Store(path, PLAN, resume=False)) as store:
        store.put(7, result)
    with closing(Store(path, PLAN, resume=True)) as store:
        kept = store.parts()
    assert kept.keys() == {7}
    assert told(kept[7]) == told(result)


def test_a_store_is_not_written_over_or_mixed_up(tmp_path: Path) -> None:
    path = tmp_path / "store"
    Store(path, PLAN, resume=True).close()
    with pytest.raises(SetupError, match="already exists"):
        Store(path, PLAN, resume=False)
    with pytest.raises(SetupError, match="another exploration"):
        Store(path, {**PLAN, "seed": 4}, resume=True)
    with closing(Store(path, PLAN, resume=True)), pytest.raises(SetupError, match="in use"):
        Store(path, PLAN, resume=True)


def test_a_file_of_others_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE parts (part INTEGER)")
    before = path.read_bytes()
    with pytest.raises(SetupError, match="no store of"):
        Store(path, PLAN, resume=True)
    assert path.read_bytes()[100:] == before[100:]


def test_a_damaged_part_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with closing(Store(path, PLAN, resume=False)) as store:
        store.put(1, some("reference", 1))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE parts SET result = '{}'")
    with closing(Store(path, PLAN, resume=True)) as store, pytest.raises(SetupError, match="damag"):
        store.parts()


def test_what_is_finished_is_not_explored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shards fill one store, in turn; who looks at it then has nothing left to play."""
    monkeypatch.setattr(jobs, "PARTS", 2)
    monkeypatch.setattr("scapy_tfo.explore.explorer.cells", lambda: CELLS)
    monkeypatch.setattr("scapy_tfo.explore.explorer.alone", list)
    for name in ("with_a_deed", "with_a_fault"):
        monkeypatch.setattr(f"scapy_tfo.explore.explorer.{name}", tuple)
    for name in ("with_deeds", "crossed", "mixed"):
        # Tens of thousands, whatever the cells are.
        monkeypatch.setattr(f"scapy_tfo.explore.explorer.{name}", lambda *_, **__: iter(()))
    path = tmp_path / "store"
    request = Request("reference", seed=3, faults=1, store=path, resume=True, shard=(0, 2))
    first = explored(replace(request, strength=1))
    both = explored(replace(request, strength=1, shard=(1, 2)))
    again = explored(replace(request, strength=1, shard=(0, 1)))
    assert 0 < first.total < both.total
    assert told(again) == told(both)
    assert again.complete


def test_a_part_that_time_ends_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "store"
    request = Request("reference", seconds=0.0, store=path, jobs=1, shard=(0, 64))
    assert not explored(request).complete
    with closing(Store(path, request.plan, resume=True)) as store:
        assert store.parts() == {}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["sim:reference", "--resume"], "give the file"),
        (["lab:linux", "--store", "x"], "simulated targets"),
        (["lab:linux", "--shard", "1/2"], "simulated targets"),
        (["sim:reference", "--shard", "3/2"], "write 3/16"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", *arguments]) == 2
    assert why in capsys.readouterr().err


def test_the_latest_run_is_the_exploration_that_found_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--seed", "1", "--first", "--jobs", "1"]
    assert main(["explore", "sim:accepts-any-cookie", *arguments]) == 1
    assert list((tmp_path / "tfo-results" / "latest").glob("*.json"))
