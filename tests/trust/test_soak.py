"""Soaking: the statistics, the verdicts that change, and runs on lossy paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request
from scapy_tfo.suite.result import Verdict
from scapy_tfo.trust.soak import (
    CaseRun,
    Soak,
    Trial,
    changes_of,
    fails_of,
    soak,
    summed_up,
    usual_verdict,
    wilson,
)

PASS, FAIL, INCONCLUSIVE, UNSUPPORTED, SKIPPED = Verdict

# R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in
# Medicine 17 (1998), table I, method 3.
PUBLISHED = [
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718),
]


@pytest.mark.parametrize(("events", "trials", "low", "high"), PUBLISHED)
def test_the_interval_is_the_published_one(
    events: int, trials: int, low: float, high: float
) -> None:
    found = wilson(events, trials)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_no_event_in_a_thousand_still_leaves_room() -> None:
    found = wilson(0, 1000)
    assert found.low == 0
    # z squared over n plus z squared.
    assert found.high == pytest.approx(3.8415 / 1003.8415, rel=1e-4)


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_the_interval_holds_the_rate_and_mirrors_it(events: int, trials: int) -> None:
    events = min(events, trials)
    found, mirrored = wilson(events, trials), wilson(trials - events, trials)
    assert 0 <= found.low <= events / trials <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-9)


@pytest.mark.parametrize(("events", "trials"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_what_is_no_rate_has_no_interval(events: int, trials: int) -> None:
    with pytest.raises(ValueError, match="trials"):
        wilson(events, trials)


@pytest.mark.parametrize(
    ("verdicts", "usual"),
    [
        ([PASS, FAIL, PASS], PASS),
        ([INCONCLUSIVE, INCONCLUSIVE, PASS], INCONCLUSIVE),
        ([INCONCLUSIVE, PASS], PASS),
        ([UNSUPPORTED, FAIL], FAIL),
    ],
)
def test_the_usual_verdict_is_the_most_frequent(verdicts: list[Verdict], usual: Verdict) -> None:
    assert usual_verdict(verdicts) is usual


def trial(seed: int, *verdicts: Verdict) -> Trial:
    """A run of the cases a, b, ... with these verdicts, each tried twice where inconclusive."""
    return Trial(
        seed=seed,
        seconds=1.0,
        case_runs=tuple(
            CaseRun(
                case=chr(97 + at),
                family=4,
                verdict=verdict,
                reason=f"in run {seed}",
                attempts=2 if verdict is INCONCLUSIVE else 1,
                fails_run=verdict is FAIL,
            )
            for at, verdict in enumerate(verdicts)
        ),
    )


TRIALS = [
    trial(0, PASS, PASS, FAIL),
    trial(1, PASS, INCONCLUSIVE, FAIL),
    trial(2, UNSUPPORTED, PASS, FAIL),
    trial(3, PASS, INCONCLUSIVE, FAIL),
    trial(4, PASS, PASS, FAIL),
]


def test_a_change_says_how_often_where_and_why() -> None:
    doubted, contradicted = changes_of(TRIALS)
    assert (doubted.case, doubted.usual, doubted.verdict) == ("b", PASS, INCONCLUSIVE)
    assert (doubted.runs, doubted.seeds, doubted.reason) == (2, (1, 3), "in run 1")
    assert not doubted.contradicts
    assert (contradicted.case, contradicted.runs, contradicted.contradicts) == ("a", 1, True)


def test_a_fail_in_every_run_is_no_change_but_a_fail() -> None:
    (found,) = fails_of(TRIALS)
    assert (found.case, found.usual, found.runs) == ("c", FAIL, 5)


def test_the_sums() -> None:
    found = summed_up(Request(target="lab:linux"), TRIALS, 12.0)
    assert (found.runs, found.case_runs, found.failed_runs) == (5, 15, 5)
    assert (found.flakes, found.contradictions, found.retries) == (3, 1, 2)
    assert found.verdicts[PASS] == 7
    assert found.exit_status == 1


def test_a_run_that_could_not_be_judged_is_trouble() -> None:
    trials = [trial(0, PASS), Trial(seed=1, seconds=1.0, trouble="no answer to a plain SYN")]
    found = summed_up(Request(target="lab:linux"), trials, 2.0)
    assert (found.runs, found.troubles) == (1, ("no answer to a plain SYN",))
    assert found.exit_status == 3


def soaked(target: str, *, impair: str = "", runs: int = 3, jobs: int = 1, only: str) -> Soak:
    how = Impairment.parse(impair) if impair else None
    options = Options(families=(4,), impairment=how)
    return soak(Request(target=target, only=[only], options=options), runs, jobs=jobs)


def test_the_reference_never_fails_and_never_changes() -> None:
    found = soaked("sim:reference", only="ACC-3.wrong-*", jobs=2)
    assert found.verdicts[FAIL] == found.flakes == found.retries == found.exit_status == 0
    assert found.case_runs == found.verdicts[PASS] == found.runs == 3


def test_a_mutant_fails_in_every_run() -> None:
    found = soaked("sim:refused-data-is-acknowledged", only="ACC-3.wrong-*")
    assert (found.failed_runs, found.exit_status) == (3, 1)
    assert max(each.runs for each in found.fails) == 3


def test_loss_turns_passes_into_inconclusive_and_nothing_else() -> None:
    found = soaked("sim:reference", impair="loss=20%", only="ACC-2", runs=5)
    assert found.verdicts[INCONCLUSIVE] > 0
    assert found.verdicts[PASS] > 0
    assert found.retries > 0
    assert (found.verdicts[FAIL], found.contradictions) == (0, 0)
    assert found.impairment == "loss=20%"


def test_only_what_lives_in_memory_has_an_impaired_path() -> None:
    with pytest.raises(SetupError, match="--impair works only with"):
        soaked("lab:linux", impair="loss=1%", only="ACC-2")


@pytest.mark.parametrize(
    "text", ["", "loss=5%", "delay=50ms,jitter=2.5ms", "loss=20%,hold=200ms", "corrupt=0.1%"]
)
def test_an_impairment_reads_as_it_was_written(text: str) -> None:
    impairment = Impairment.parse(text)
    assert Impairment.parse(str(impairment)) == impairment
    assert set(str(impairment).split(",")) == set(text.split(","))
