"""The order in which cases begin."""

from __future__ import annotations

from itertools import pairwise

from scapy_tfo.runner.judging.job import Job, longest_first
from scapy_tfo.spec import load
from scapy_tfo.suite.registry import all_cases, all_stimuli

CATALOGUE = load()


def jobs() -> list[Job]:
    some = (*all_cases(), *all_stimuli())
    return [Job(case, family, CATALOGUE) for family in (4, 6) for case in some]


def test_each_begins_once_and_both_families_beside_each_other() -> None:
    some = jobs()
    order = longest_first(some)
    assert sorted(map(id, order)) == sorted(map(id, some))
    of_four = [job.case.id for job in order if job.family == 4]
    assert of_four == [job.case.id for job in order if job.family == 6]
    for early, late in zip(of_four, of_four[4:], strict=False):
        four = next(at for at, job in enumerate(order) if job.case.id == early)
        six = next(at for at, job in enumerate(order) if job.case.id == late and job.family == 6)
        assert four < six


def test_no_stimulus_has_only_stimuli_around_it() -> None:
    order = longest_first(jobs())
    # Those that wait for the longest begin together.
    judges = [job.case.judges or job.case.waits > 0 for job in order]
    assert not any(not first and not second for first, second in pairwise(judges))


def test_what_took_long_before_begins_first() -> None:
    some = jobs()
    for place, job in enumerate(some):
        job.seconds = float(place % 7) + 1
    seconds = [job.seconds for job in longest_first(some)]
    assert seconds == sorted(seconds, reverse=True)
