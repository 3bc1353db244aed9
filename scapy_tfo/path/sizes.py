"""Finds the size of a SYN's data, and of its cookie, from which on a path breaks it.

For data, connections are opened until the limit lies between two sizes that differ by one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from scapy_tfo.option import MAX_COOKIE, MIN_COOKIE
from scapy_tfo.path.account import Account
from scapy_tfo.path.evidence import Evidence, Finding, Verdict
from scapy_tfo.path.observation import Probe, Trial
from scapy_tfo.path.prober import Opening
from scapy_tfo.segment import Segment

DROPS_LONG, STRIPS_LONG = "drops-long-option", "strips-long-option"

COOKIE_LENGTHS = tuple(range(MIN_COOKIE, MAX_COOKIE + 1, 2))

_PARTS = 8
"""Sizes that are tried at a time."""

_TWICE, _TIMES = 2, 3
"""Connections of each size: one that passes tells, those that do not may be lost by chance."""

_FILLER = bytes.fromhex("7413f0074dc0ffee7413f0074dc0ffee")

Have = Callable[..., Awaitable[list[Trial]]]
"""Has connections that begin so, and returns what became of them."""


@dataclass(frozen=True, slots=True)
class Limit:
    """passes: the largest size that does, in bytes. fails: the smallest beyond it that does not."""

    passes: int
    fails: int


def first_syn(trial: Trial) -> Segment:
    """The one that began it."""
    return next(
        each.segment for each in trial.near if each.sent and each.segment and each.segment.is_syn
    )


def prompt(trial: Trial) -> Segment | None:
    """The SYN-ACK that came before the SYN went a second time."""
    syns = 0
    for each in trial.near:
        segment = each.segment
        if segment is None:
            continue
        syns += each.sent and segment.is_syn
        if syns > 1:
            return None
        if not each.sent and segment.is_syn_ack:
            return segment
    return None


async def narrow(have: Have, trials: Sequence[Trial], cookie: bytes, mss: int) -> None:
    """Find out how much data passes, where some does and as much as fits does not."""
    some = [each for each in trials if each.probe is Probe.FAST_OPEN and prompt(each)]
    full = [each for each in trials if each.probe is Probe.FAST_OPEN_FULL]
    if not some or not full or any(prompt(each) for each in full):
        return
    least = max(len(first_syn(each).payload) for each in some)
    most = min(len(first_syn(each).payload) for each in full)
    while most - least > 1:
        step = max(1, (most - least) // (_PARTS + 1))
        sizes = range(least + step, most, step)
        openings = [Opening(Probe.SIZED, cookie, mss, size) for size in sizes]
        done = await have(*openings * _TWICE)
        passed = {len(first_syn(each).payload) for each in done if prompt(each)}
        least = max([least, *passed])
        most = min(size for size in [*sizes, most] if size > least)


async def try_cookies(have: Have) -> None:
    """Cookies of the least and the most length; of all lengths, where one of them does not pass."""
    ends = (COOKIE_LENGTHS[0], COOKIE_LENGTHS[-1])
    done = await have(*_cookies(ends))
    told = {len(each.cookie) for each in done if _comes_whole(prompt(each))}
    if len(told) == 1:
        await have(*_cookies(COOKIE_LENGTHS))


def _cookies(sizes: Sequence[int]) -> list[Opening]:
    return [Opening(Probe.COOKIE_SIZED, _FILLER[:size]) for size in sizes] * _TIMES


def _comes_whole(answer: Segment | None) -> bool:
    """A server that reads the option answers with a cookie of its own."""
    return answer is not None and bool(answer.cookie)


def data_limit(evidence: Evidence) -> Limit | None:
    """How much data passes; None where no size was found that does not."""
    sizes: dict[int, bool] = {}
    for each in evidence.of(Probe.FAST_OPEN, Probe.FAST_OPEN_FULL, Probe.SIZED):
        size = len(each.syn.payload)
        sizes[size] = sizes.get(size, False) or each.prompt is not None
    passes = max((size for size, passed in sizes.items() if passed), default=0)
    fails = min((size for size in sizes if size > passes), default=0)
    return Limit(passes, fails) if passes and fails else None


def find(evidence: Evidence) -> list[Finding]:
    """Whether the length of a cookie makes a difference."""
    by_size: dict[int, list[Account]] = {}
    for each in evidence.of(Probe.COOKIE_SIZED):
        by_size.setdefault(len(each.trial.cookie), []).append(each)
    passes = [
        size for size, found in by_size.items() if any(_comes_whole(each.prompt) for each in found)
    ]
    fails = sorted(set(by_size) - set(passes))
    if set(by_size) != set(COOKIE_LENGTHS) or not passes or not fails or max(passes) > fails[0]:
        return []
    silent = all(each.prompt is None for size in fails for each in by_size[size])
    what = "SYNs with longer ones are not answered" if silent else "longer ones are taken out"
    says = f"cookies of up to {max(passes)} bytes pass; {what}, from {fails[0]} bytes on"
    name, verdict = (DROPS_LONG, Verdict.DROPS) if silent else (STRIPS_LONG, Verdict.STRIPS)
    return [Finding(name, verdict, says)]
