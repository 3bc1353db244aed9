"""The store keeps a batch whole or not at all, and reports a file that was damaged."""

from __future__ import annotations

import os
import resource
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.findings.database import is_empty
from scapy_tfo.fuzz.findings.finding import Status
from scapy_tfo.fuzz.findings.merge import merge
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.batches import Batch
from scapy_tfo.fuzz.generation.corpus import Corpus
from tests.fuzz.fakes import FakeBench, Fault, make, plan, sends

RESET_WITH_DATA = Fault(
    lambda program: any("R" in each.flags and each.size for each in sends(program))
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.sqlite"


def campaign(
    path: Path, programs: int, *, bench: FakeBench | None = None, **changes: object
) -> Store:
    """A store with a campaign that has ended; the caller closes it."""
    bench = bench or FakeBench([RESET_WITH_DATA])
    store = (
        Store.create(path, plan(**changes)) if is_empty(path) else Store.open(path, to_write=True)
    )
    Campaign(store, make, bench, lambda: bench, programs=programs).run()
    return store


def test_what_was_kept_is_there_again(path: Path) -> None:
    with closing(campaign(path, 200)) as store:
        totals, coverage, findings = store.totals(), store.coverage(), store.findings()
    assert (totals.programs, totals.batches, len(findings)) == (200, 4, 1)
    with closing(Store.open(path)) as again:
        assert (again.totals(), again.coverage(), again.findings()) == (totals, coverage, findings)
        assert again.plan == plan()
        assert again.corpus().keys() == coverage.keys()
        assert again.counters()["TCPFastOpenPassive"] == 200
    assert not Path(f"{path}.lock").exists()


def test_a_finding_has_the_first_program_that_showed_it(path: Path) -> None:
    with closing(campaign(path, 300, mutate=False)) as store:
        (finding,) = store.findings()
    numbers = [each for each in range(300) if RESET_WITH_DATA.shows(make(each, "rfc"))]
    assert (finding.number, finding.count) == (numbers[0], len(numbers))
    assert finding.status is Status.CONFIRMED
    assert len(finding.reduced.steps) == 1
    assert finding.id.startswith("ACC-2-")


def test_a_batch_is_kept_whole_or_not_at_all(path: Path) -> None:
    with closing(campaign(path, 64)) as store:
        before = store.totals(), store.coverage()
        batch = Batch(store.plan, 1, range(64, 128), make, Corpus())
        for number, verdict in FakeBench([RESET_WITH_DATA]).run(batch.programs()):
            batch.add(number, verdict)

        batch.tally.first["new"] = 64
        store._database.execute("DROP TABLE sighting")
        with pytest.raises(SetupError):
            store.commit(batch, seconds=1.0)
        store._database.execute("CREATE TABLE sighting (count, finding)")
        assert (store.totals(), store.coverage()) == before


def test_a_full_disk_is_told_and_what_was_finished_stays(path: Path) -> None:
    with closing(campaign(path, 64)) as store:
        pages = store.transaction
        with pages() as database:
            (size,) = database.execute("PRAGMA page_count").fetchone()
        store._database.execute(f"PRAGMA max_page_count = {size}")
        bench = FakeBench([RESET_WITH_DATA])
        with pytest.raises(SetupError, match=r"cannot grow.*--resume"):
            Campaign(store, make, bench, lambda: bench, programs=1 << 20).run()
        kept = store.totals()
    with closing(Store.open(path)) as again:
        assert again.totals() == kept
    done = kept.batches
    with closing(campaign(path, 64 * (done + 2))) as resumed:
        assert resumed.totals().batches == done + 2


def read(path: Path) -> None:
    with closing(Store.open(path)) as store:
        store.findings()
        store.corpus()


@pytest.mark.parametrize("where", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_told(path: Path, where: float) -> None:
    campaign(path, 640).close()
    content = bytearray(path.read_bytes())
    at = int(len(content) * where) // 4096 * 4096
    content[at : at + 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    with pytest.raises(SetupError, match="is damaged"):
        read(path)


def test_no_store_at_all(path: Path) -> None:
    with pytest.raises(SetupError, match="there is no campaign at"):
        Store.open(path)
    path.write_text("just text, and a good deal of it" * 10)
    with pytest.raises(SetupError, match="is damaged"):
        Store.open(path)
    with pytest.raises(SetupError, match="already exists"):
        Store.create(path, plan())
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE something (value)")
    with pytest.raises(SetupError, match="not a campaign of this tool"):
        Store.open(path)


def test_a_store_is_for_one_writer_and_many_readers(path: Path) -> None:
    with closing(campaign(path, 64)):
        with pytest.raises(SetupError, match="in use by another run"):
            Store.open(path, to_write=True)
        with closing(Store.open(path)) as reader:
            assert reader.totals().programs == 64
    Store.open(path, to_write=True).close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot write"):
        Store.create(tmp_path / "absent" / "a.sqlite", plan())


@pytest.mark.parametrize("programs", [64 * 9, 64 * 9 - 20])
def test_shards_merged_are_the_whole(tmp_path: Path, programs: int) -> None:
    parts = []
    for shard in (1, 2, 3):
        part = tmp_path / f"{shard}.sqlite"
        campaign(part, programs, shard=(shard, 3)).close()
        parts.append(part)
    with (
        closing(campaign(tmp_path / "whole.sqlite", programs)) as whole,
        closing(merge(tmp_path / "merged.sqlite", parts)) as merged,
    ):
        ours, theirs = merged.totals(), whole.totals()
        assert (ours.seeded, ours.mutated) == (theirs.seeded, theirs.mutated)
        assert (ours.programs, ours.probes) == (theirs.programs, theirs.probes)
        assert merged.coverage() == whole.coverage()
        assert merged.finished() == whole.finished()
        found = [
            [(each.id, each.count, each.number) for each in one.findings()]
            for one in (merged, whole)
        ]
        assert found[0] == found[1]
        assert merged.plan == whole.plan


def test_more_shards_are_merged_than_files_may_be_open(tmp_path: Path) -> None:
    parts = []
    for shard in range(1, 41):
        parts.append(tmp_path / f"{shard}.sqlite")
        campaign(parts[-1], 64 * 40, shard=(shard, 40)).close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, hard))
    try:
        with closing(merge(tmp_path / "merged.sqlite", parts)) as merged:
            assert merged.totals().programs == 64 * 40
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_not_of_one_campaign_is_not_merged(tmp_path: Path) -> None:
    names = "first", "profile", "target", "grammar", "seed"
    changes = {}, {"profile": "linux"}, {"target": "sim:x"}, {"grammar": "2"}, {"seed": 9}
    for name, change in zip(names, changes, strict=True):
        campaign(tmp_path / name, 64, **change).close()
    for name in names[1:]:
        with pytest.raises(SetupError, match=f"belongs to another campaign than .*: {name} "):
            merge(tmp_path / "out", [tmp_path / "first", tmp_path / name])
    with pytest.raises(SetupError, match="give each shard once"):
        merge(tmp_path / "out", [tmp_path / "first", tmp_path / "first"])
    assert is_empty(tmp_path / "out")


def test_many_batches_cost_little_room(path: Path) -> None:
    with closing(campaign(path, 64 * 50)) as store:
        assert store.totals().batches == 50
    assert path.stat().st_size < 200_000


def test_a_finding_with_packets_is_not_lost_to_an_earlier_one_without(path: Path) -> None:
    with closing(campaign(path, 64)) as store:
        (finding,) = store.findings()
        kind = finding.requirement, finding.rule, finding.state, finding.reply, finding.cookie
        assert finding.packets
        assert not store.settle(kind, replace(finding, number=0, packets=()))
        assert store.findings() == [finding]
        store.settle(kind, replace(finding, number=0, seed=0))
        assert store.findings() == [replace(finding, number=0, seed=0)]
