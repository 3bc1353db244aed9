"""A batch depends on its number alone, not on the order of verdicts or on who sends it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.generation.batches import Batch, Tally
from scapy_tfo.fuzz.generation.corpus import MOST_SENDS, Corpus, mutated
from scapy_tfo.fuzz.generation.plan import parse_duration, parse_shard
from scapy_tfo.program import splice
from scapy_tfo.program.fingerprint import of_seeded, total
from scapy_tfo.program.program import Program, Wait, check, dumps, loads
from tests.fuzz.fakes import FakeBench, make, plan


def run(
    numbers: range = range(64),
    bench: FakeBench | None = None,
    corpus: dict[str, Program] | None = None,
    **changes: object,
) -> Batch:
    """A batch that was sent."""
    bench = bench or FakeBench()
    batch = Batch(plan(**changes), 0, numbers, make, Corpus(corpus))
    while not batch.is_whole:
        for number, verdict in bench.run(batch.programs()):
            batch.add(number, verdict)
    return batch


def sent(window: int, **changes: object) -> tuple[Tally, list[int]]:
    """What it came to, and the numbers in the order they were sent in."""
    bench = FakeBench(window=window)
    return run(bench=bench, **changes).tally, bench.log


def test_a_batch_sends_each_number_once_and_in_order() -> None:
    tally, log = sent(16)
    assert log == list(range(64))
    assert tally.programs == 64
    assert tally.probes > 64


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
    whole, cut = run(range(64)), run(range(40))
    for number in range(40):
        assert whole.program(number) == cut.program(number)


def test_a_corpus_has_children_from_the_first_batch_on() -> None:
    parent = make(4711, "rfc")
    with_corpus = run(corpus={"somewhere": parent})
    without, _ = sent(16)
    assert with_corpus.tally.seeded != without.seeded
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
        def judge(self, program: Program):
            return type(super().judge(program))(sent=program.sends)

    batch = run(bench=Deaf())
    assert all(batch.program(number) == make(number, "rfc") for number in range(64))
    assert batch.tally.mutated == 0


def test_long_waits_are_put_off_where_time_is_real() -> None:
    def slow(seed: int, themes: str) -> Program:
        program = make(seed, themes)
        seconds = 30.0 if seed % 8 == 0 else 0.5
        return splice.with_steps(program, (*program.steps, Wait(seconds)))

    for live, expected in ((False, []), (True, list(range(0, 64, 8)))):
        batch = Batch(plan(live=live, mutate=False), 0, range(64), slow, Corpus())
        log = [number for number, _ in batch.programs()]
        assert [each.number for each in batch.late] == expected
        assert sorted([*log, *expected]) == list(range(64))


def test_what_will_never_be_judged_is_not_waited_for() -> None:
    batch = Batch(plan(), 0, range(64), make, Corpus())
    first = [number for number, _ in batch.programs()]
    assert first == list(range(32))
    assert not list(batch.programs())
    batch.give_up()
    rest = [number for number, _ in batch.programs()]
    assert rest == list(range(32, 56))
    assert batch.is_busy
    batch.give_up()
    assert not batch.is_busy
    assert [number for number, _ in batch.programs()] == list(range(56, 64))
    batch.give_up()
    assert batch.is_whole
