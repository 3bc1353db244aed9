"""Targets by name, as benches."""

from __future__ import annotations

from typing import Protocol

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.bench import Bench
from scapy_tfo.fuzz.firing import Volleyer
from scapy_tfo.fuzz.live import LiveBench
from scapy_tfo.fuzz.profile import Profile
from scapy_tfo.fuzz.simulated import SimulatedBench

_SIMULATED, _LAB = "sim:", "lab:"
_LINUX = "lab:linux"
_VOLLEYS = 8
_SMALL_BATCH, _LARGE_BATCH = 256, 2048


class ProfiledBench(Bench, Protocol):
    """A bench that knows what its target may choose."""

    profile: Profile


def open_bench(name: str, *, profile: str = "auto", rate: int | None = None) -> ProfiledBench:
    """The target `name`, ready to be fuzzed; the caller closes it.

    profile: what the model allows, "linux", "rfc" or "off"; "auto" for what the target shows.
    rate: segments a second at most. Raises SetupError where there is no such target, or it cannot
    be reached from here; TargetError where it does not answer.
    """
    if name.startswith(_SIMULATED):
        if profile != "auto":
            raise SetupError(f"--profile {profile}: {name} shows what it is; leave it out")
        if rate is not None:
            raise SetupError(f"--rate is for targets on the wire, and {name} is none")
        return SimulatedBench(name)
    if name == _LINUX:
        return LiveBench.lab(rate=rate)
    raise SetupError(f"'{name}' is no target for fuzz: give sim:NAME or {_LINUX}")


def batch_of(name: str) -> int:
    """Programs in a batch for this target: about a second's work, as that much may be lost."""
    return _LARGE_BATCH if name.startswith(_LAB) else _SMALL_BATCH


def volleys_of(bench: Bench) -> int:
    """Volleys in a batch at this target: about as many single SYNs as other segments."""
    return _VOLLEYS if isinstance(bench, Volleyer) else 0
