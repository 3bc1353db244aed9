"""Opens targets by name, as benches."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.executor.bench import Bench, Volleyer
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.pair import AGAINST, PairBench
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.lab.bulk.target import BulkLab
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.stacks.file import is_target_file
from scapy_tfo.targets.by_address import open_address
from scapy_tfo.targets.by_file import open_file
from scapy_tfo.targets.kernel_counters import KernelCounters
from scapy_tfo.targets.mapped import MappedBench

_SIMULATED, _LAB = "sim:", "lab:"
_LINUX = "lab:linux"
_VOLLEYS = 8
_SMALL_BATCH, _LARGE_BATCH = 256, 2048


class ProfiledBench(Bench, Protocol):
    """A bench that knows what its target may choose."""

    profile: Profile


def open_bench(name: str, *, profile: str = "auto", rate: int | None = None) -> ProfiledBench:
    """The target `name`, ready to be fuzzed; the caller closes it.

    "FIRST against SECOND" are two, of which the first is judged by what the second does.
    profile: what the model allows, "linux", "rfc" or "off"; "auto" for what the target shows.
    rate: segments a second at most. Raises SetupError where there is no such target, or it cannot
    be reached from here; TargetError where it does not answer.
    """
    if AGAINST in name:
        return _pair(*name.split(AGAINST, 1), profile=profile, rate=rate)
    return _single(name, profile=profile, rate=rate)


def _pair(first: str, second: str, *, profile: str, rate: int | None) -> PairBench:
    if profile != "auto":
        raise SetupError(f"--profile {profile} does not go with --against, which uses no model")
    with ExitStack() as stack:
        benches = []
        for name in (first, second):
            bench = _single(name, profile=profile, rate=None if _is_simulated(name) else rate)
            stack.callback(bench.close)
            bench.watch()
            benches.append(bench)
        stack.pop_all()
    held = benches[0].profile
    fresh = all(each.profile.fresh for each in benches)
    return PairBench(benches[0], benches[1], replace(held, fresh=fresh))


def _is_simulated(name: str) -> bool:
    return name.startswith(_SIMULATED)


def _single(
    name: str, *, profile: str, rate: int | None
) -> SimulatedBench | LiveBench | MappedBench:
    if _is_simulated(name):
        if profile != "auto":
            raise SetupError(
                f"leave out --profile {profile}: the replies of {name} show its profile"
            )
        if rate is not None:
            raise SetupError(f"--rate works only with targets on the wire, not with {name}")
        return SimulatedBench(name)
    if name == _LINUX:
        lab = BulkLab.start()
        return MappedBench(LiveBench.lab(lab, rate=rate), KernelCounters(lab.netstat), is_slow=True)
    if name.startswith(_LAB):
        raise SetupError(
            f"'{name}' is not a target for fuzz: give {_LINUX}, sim:NAME, HOST:PORT or FILE.toml"
            + did_you_mean(name, [_LINUX])
        )
    if profile not in ("auto", "rfc"):
        raise SetupError(f"leave out --profile {profile}: the replies of {name} show its profile")
    if is_target_file(name):
        return open_file(name, rate=rate)
    return open_address(name, rate=rate)


def batch_of(name: str) -> int:
    """Programs in a batch for this target: about a second's work, as that much may be lost."""
    return _LARGE_BATCH if name.startswith(_LAB) else _SMALL_BATCH


def volleys_of(bench: Bench) -> int:
    """Volleys in a batch at this target: about as many single SYNs as other segments."""
    return _VOLLEYS if isinstance(bench, Volleyer) else 0
