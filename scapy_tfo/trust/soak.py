"""Judges one target many times: counts changed verdicts, contradictions and failures."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from statistics import NormalDist

from scapy_tfo.errors import TargetError, none_of
from scapy_tfo.lab.process.namespace import die_with_parent
from scapy_tfo.runner.session import Request, run
from scapy_tfo.suite.result import INTERRUPTED, Result, Run, Verdict, standing

CONFIDENCE = 0.95

_CONCLUSIVE = (Verdict.PASS, Verdict.FAIL, Verdict.UNSUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where a rate lies, 0 to 1, with a confidence of CONFIDENCE."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRun:
    """One case, judged once at one address. The fields are those of Result.

    fails_run: the verdict is a FAIL of a level that fails a run.
    """

    case: str
    family: int
    verdict: Verdict
    reason: str
    attempts: int
    fails_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of the whole list. seconds: wall time. trouble: why the target could not be judged
    or was gone at the end, else ""."""

    seed: int
    seconds: float
    case_runs: tuple[CaseRun, ...] = ()
    trouble: str = ""


Trials = Generator[Trial, None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A verdict that a case gave at one address beside its most frequent one.

    runs: how often. seeds: of these runs, the first few. reason: of the first.
    """

    case: str
    family: int
    usual: Verdict
    verdict: Verdict
    runs: int
    seeds: tuple[int, ...]
    reason: str

    @property
    def contradicts(self) -> bool:
        """Both verdicts claim to know. Loss may leave a case without one, not give it another."""
        return self.usual in _CONCLUSIVE and self.verdict in _CONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """What many runs found.

    impairment: as given to --impair. seconds: wall time. runs: those that were judged. troubles:
    what went wrong in the others, or at the end of a run. left: runs that an interruption
    prevented. case_runs: cases judged, skipped ones left out. failed_runs: runs with a FAIL that
    fails them. fails: every FAIL. changes: verdicts beside the usual one. retries: attempts beyond
    the first.
    """

    target: str
    impairment: str
    slow: bool
    first_seed: int
    seconds: float
    runs: int
    case_runs: int
    failed_runs: int
    retries: int
    verdicts: dict[Verdict, int]
    fails: tuple[Change, ...] = ()
    changes: tuple[Change, ...] = ()
    troubles: tuple[str, ...] = field(default=())
    left: int = 0

    @property
    def flakes(self) -> int:
        """Case-runs whose verdict was not the most frequent one of that case at that address."""
        return sum(each.runs for each in self.changes)

    @property
    def contradictions(self) -> int:
        """Flakes in which one run claims what another denies; loss explains none of them."""
        return sum(each.runs for each in self.changes if each.contradicts)

    @property
    def exit_status(self) -> int:
        """130 where it was interrupted, 1 where a run failed, 3 where one could not be judged to
        its end, else 0."""
        if self.left:
            return INTERRUPTED
        return 1 if self.failed_runs else 3 if self.troubles else 0


def wilson(events: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a rate; it holds for no events, too.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    Raises ValueError where events are not 0 to trials, or there is no trial.
    """
    if not 0 <= events <= trials or not trials:
        raise ValueError(f"{events} events in {trials} trials")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, square = events / trials, z * z / trials
    middle = (rate + square / 2) / (1 + square)
    reach = z / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    low = middle - reach if events else 0.0
    high = middle + reach if events < trials else 1.0
    return Interval(low=max(low, 0.0), high=min(high, 1.0))


def usual_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """The most frequent one; of several, the first in the order of Verdict."""
    counts = Counter(verdicts)
    return max(Verdict, key=lambda each: counts[each])


def changes_of(trials: Iterable[Trial]) -> tuple[Change, ...]:
    """Every verdict beside the usual one of its case and address, the most frequent first."""
    found: list[Change] = []
    for (case, family), seen in _by_case(trials).items():
        usual = usual_verdict(each.verdict for _, each in seen)
        for verdict in Verdict:
            if verdict is not usual:
                found += _change(case, family, usual, verdict, seen)
    return tuple(sorted(found, key=lambda each: -each.runs))


def fails_of(trials: Iterable[Trial]) -> tuple[Change, ...]:
    """Every FAIL, usual or not."""
    found: list[Change] = []
    for (case, family), seen in _by_case(trials).items():
        usual = usual_verdict(each.verdict for _, each in seen)
        found += _change(case, family, usual, Verdict.FAIL, seen)
    return tuple(found)


_Seen = list[tuple[int, CaseRun]]
_SEEDS_SHOWN = 5


def _by_case(trials: Iterable[Trial]) -> dict[tuple[str, int], _Seen]:
    found: dict[tuple[str, int], _Seen] = {}
    for trial in trials:
        for each in trial.case_runs:
            found.setdefault((each.case, each.family), []).append((trial.seed, each))
    return found


def _change(case: str, family: int, usual: Verdict, verdict: Verdict, seen: _Seen) -> list[Change]:
    such = [(seed, each) for seed, each in seen if each.verdict is verdict]
    if not such:
        return []
    return [
        Change(
            case=case,
            family=family,
            usual=usual,
            verdict=verdict,
            runs=len(such),
            seeds=tuple(seed for seed, _ in such[:_SEEDS_SHOWN]),
            reason=such[0][1].reason,
        )
    ]


def summed_up(request: Request, trials: Sequence[Trial], seconds: float) -> Soak:
    """The figures of finished trials of one request; seconds: wall time of them all."""
    every = [each for trial in trials for each in trial.case_runs]
    how = request.options.impairment
    return Soak(
        target=request.target,
        impairment="" if how is None else str(how),
        slow=request.options.slow,
        first_seed=request.options.seed,
        seconds=seconds,
        runs=sum(bool(trial.case_runs) for trial in trials),
        case_runs=len(every),
        failed_runs=sum(any(each.fails_run for each in trial.case_runs) for trial in trials),
        retries=sum(each.attempts - 1 for each in every),
        verdicts={verdict: sum(each.verdict is verdict for each in every) for verdict in Verdict},
        fails=fails_of(trials),
        changes=changes_of(trials),
        troubles=tuple(dict.fromkeys(trial.trouble for trial in trials if trial.trouble)),
    )


def soak(
    request: Request,
    runs: int,
    *,
    jobs: int | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Soak:
    """Judge the same target `runs` times, each run with a seed of its own, the request's first.

    jobs: simulated runs at a time, by default one for each processor; live ones go one after
    another. Ctrl-C ends it with the figures of the runs that were finished; KeyboardInterrupt is
    raised where none was. Raises SetupError as session.run does, and TargetError where no run
    could be judged.
    """
    began = time.perf_counter()
    seeds = range(request.options.seed, request.options.seed + runs)
    workers = min(jobs or os.cpu_count() or 1, runs) if request.target.startswith("sim:") else 1
    trials: list[Trial] = []
    is_whole = True
    way = _side_by_side(request, seeds, workers) if workers > 1 else _in_turn(request, seeds)
    try:
        with closing(way):
            for trial in way:
                trials.append(trial)
                if on_trial is not None:
                    on_trial(trial)
    except KeyboardInterrupt:
        if not trials:
            raise none_of(runs, "runs had ended") from None
        is_whole = False
    if not any(trial.case_runs for trial in trials):
        raise TargetError(trials[0].trouble)
    trials.sort(key=lambda each: each.seed)
    found = summed_up(request, trials, time.perf_counter() - began)
    return found if is_whole else replace(found, left=runs - len(trials))


def try_once(request: Request, seed: int) -> Trial:
    """One run. Raises SetupError as session.run does."""
    began = time.perf_counter()
    try:
        done = run(replace(request, options=replace(request.options, seed=seed, capture=False)))
    except TargetError as error:
        return Trial(seed=seed, seconds=time.perf_counter() - began, trouble=str(error))
    return trial_of(done, seed, time.perf_counter() - began)


def trial_of(done: Run, seed: int, seconds: float) -> Trial:
    """What a soak keeps of a run."""
    kept = (_kept(each) for each in done.results if each.verdict is not Verdict.SKIPPED)
    return Trial(seed=seed, seconds=seconds, case_runs=tuple(kept), trouble=done.gone)


def _kept(result: Result) -> CaseRun:
    return CaseRun(
        case=result.case,
        family=result.family,
        verdict=result.verdict,
        reason=result.reason,
        attempts=result.attempts,
        fails_run=standing(result).fails_run,
    )


def _in_turn(request: Request, seeds: Iterable[int]) -> Trials:
    for seed in seeds:
        yield try_once(request, seed)


def _side_by_side(
    request: Request, seeds: Iterable[int], workers: int
) -> Generator[Trial, None, None]:
    pool = ProcessPoolExecutor(
        workers,
        # A fork would copy the locks of the thread that draws the progress.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_be_a_worker,
        initargs=(os.getpid(),),
    )
    try:
        for done in as_completed([pool.submit(try_once, request, seed) for seed in seeds]):
            yield done.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    pool.shutdown()


def _be_a_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and never outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)
    die_with_parent(parent)
