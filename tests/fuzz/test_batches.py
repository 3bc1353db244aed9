"""A batch depends on its number alone: whatever order verdicts come in, and whoever sends it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.batches import Batch, Tally
from scapy_tfo.fuzz.corpus import MOST_SENDS, mutated
from scapy_tfo.fuzz.fingerprint import of_seeded, total
from scapy_tfo.fuzz.plan import parse_duration, parse_shard
from scapy_tfo.fuzz.program import Program, check, dumps, loads
from tests.fuzz.fakes import FakeBench, make, plan


def sent(window: int, numbers: range = range(64), **changes: object) -> tuple[Tally, list[int]]:
    bench = FakeBench(window=window)
    batch = Batch(plan(**changes), numbers, make, {})
    batch.run(bench)
    assert batch.is_done
    return batch.tally, bench.log


def test_a_batch_sends_each_number_once_and_in_order() -> None:
    tally, log = sent(16)
    assert log == list(range(64))
    assert tally.programs == 64
    assert tally.probes == tally.programs * 0 + tally.probes > 64


def test_how_late_verdicts_are_changes_nothing() -> None:
    quick, slow, all_at_once = (sent(window)[0] for window in (0, 9, 1000))
    assert quick == slow == all_at_once
    assert quick.mutated != 0


def test_a_campaign_without_mutations_sends_what_the_seeds_say() -> None:
    tally, _ = sent(16, mutate=False)
    expected = total(of_seeded(seed, make(seed, "rfc")) for seed in range(64))
    assert total([tally.seeded]) == expected
    assert tally.mutated == 0


def test_a_cut_batch_sends_the_beginning_of_a_whole_one() -> None:
    batches = [Batch(plan(), numbers, make, {}) for numbers in (range(64), range(40))]
    for batch in batches:
        batch.run(FakeBench())
    whole, cut = batches
    for number in range(40):
        assert whole.program(number) == cut.program(number)


def test_a_corpus_has_children_from_the_first_batch_on() -> None:
    parent = make(4711, "rfc")
    with_corpus = Batch(plan(), range(64), make, {"somewhere": parent})
    with_corpus.run(FakeBench())
    without, _ = sent(16)
    assert with_corpus.tally.seeded == without.seeded
    assert with_corpus.tally.mutated != without.mutated


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**20), st.integers(0, 2**20))
def test_mutations_are_valid_and_repeat_themselves(seed: int, parent: int, other: int) -> None:
    first, second = make(parent, "rfc"), make(other, "rfc")
    changed = mutated(first, second, seed)
    assert changed == mutated(first, second, seed)
    check(changed)
    assert 1 <= changed.sends <= MOST_SENDS
    assert loads(dumps(changed)) == changed


@given(st.integers(1, 9), st.integers(0, 3000))
def test_shards_share_all_programs_and_no_two_the_same(shards: int, programs: int) -> None:
    seen = [
        number
        for shard in range(1, shards + 1)
        for _, numbers in plan(shard=(shard, shards)).batches(programs)
        for number in numbers
    ]
    assert sorted(seen) == list(range(programs))


def test_seeds_of_campaigns_do_not_overlap() -> None:
    assert plan(seed=1).seed_of(0) == plan(seed=0).seed_of(2**32 - 1) + 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5s", 1.5), ("30m", 1800), ("2h", 7200)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "5y", "m", "-3s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(SetupError, match="write a time as"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "3/"])
def test_no_shards(text: str) -> None:
    with pytest.raises(SetupError, match="third of sixteen"):
        parse_shard(text)


def test_a_program_is_its_own_parent_only_where_nothing_was_reached() -> None:
    class Deaf(FakeBench):
        def judge(self, program: Program):  # type: ignore[no-untyped-def]
            return type(super().judge(program))(sent=program.sends)

    batch = Batch(plan(), range(64), make, {})
    batch.run(Deaf())
    assert all(batch.program(number) == make(number, "rfc") for number in range(64))
    assert batch.tally.mutated == 0
