"""One direction of a path that delays, loses, duplicates, reorders and corrupts packets."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, fields

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.units import seconds_of

_SHARE = re.compile(r"(\d+(?:\.\d+)?)(%|)")
_PROBABILITIES = ("loss", "duplicate", "reorder", "corrupt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """What a path does to each packet, in each direction.

    delay: seconds. jitter: up to so many seconds more; packets keep their order. loss,
    duplicate, reorder, corrupt: how probable each is, 0 to 1. A reordered packet is held back
    for up to `hold` seconds, so that later ones overtake it; a corrupted one has one bit
    flipped.
    """

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    hold: float = 0.02

    @property
    def is_none(self) -> bool:
        """Everything goes through at once, in order."""
        return self == Impairment()

    def __str__(self) -> str:
        """As `parse` reads it, `loss=5%,delay=50ms`."""
        shown = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                told = f"{value * 100:g}%" if each.name in _PROBABILITIES else f"{value * 1e3:g}ms"
                shown.append(f"{each.name}={told}")
        return ",".join(shown)

    @classmethod
    def parse(cls, text: str) -> Impairment:
        """Read `loss=5%,delay=50ms,...`. Raises SetupError where it says something else."""
        values: dict[str, float] = {}
        names = {each.name for each in fields(cls)}
        for entry in filter(None, text.split(",")):
            name, _, amount = entry.strip().partition("=")
            try:
                if name not in names:
                    raise ValueError(name)
                values[name] = (_share if name in _PROBABILITIES else seconds_of)(amount)
            except ValueError:
                raise SetupError(
                    f"'{entry}' is not an impairment: give {', '.join(sorted(names))}, "
                    f"such as loss=5% or delay=50ms{did_you_mean(name, names - {name})}"
                ) from None
        for name in _PROBABILITIES:
            if values.get(name, 0.0) > 1.0:
                raise SetupError(f"'{name}' is a probability: give at most 1, or 100%")
        return cls(**values)


def _share(text: str) -> float:
    """`5%` or `0.05`. Raises ValueError."""
    found = _SHARE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return float(found[1]) / (100 if found[2] else 1)


class Path:
    """One direction, on the running asyncio loop.

    deliver: called with each packet that comes out. random: decides what happens to which.
    """

    def __init__(
        self, impairment: Impairment, deliver: Callable[[bytes], None], dice: random.Random
    ) -> None:
        self._impairment = impairment
        self._is_clear = impairment.is_none
        self._deliver = deliver
        self._dice = dice
        self._loop = asyncio.get_running_loop()
        self._travelling: list[tuple[float, int, bytes]] = []
        self._serial = itertools.count()
        self._last_due = 0.0

    def send(self, packet: bytes) -> None:
        """Put a packet in."""
        if self._is_clear:
            self._loop.call_soon(self._deliver, packet)
            return
        how, dice = self._impairment, self._dice
        copies = 0 if dice.random() < how.loss else 1 + (dice.random() < how.duplicate)
        for _ in range(copies):
            self._launch(_corrupted(packet, dice) if dice.random() < how.corrupt else packet)

    def _launch(self, packet: bytes) -> None:
        how, dice = self._impairment, self._dice
        due = self._loop.time() + how.delay + dice.random() * how.jitter
        if dice.random() < how.reorder:
            due += dice.random() * how.hold
        else:
            self._last_due = due = max(due, self._last_due)
        heapq.heappush(self._travelling, (due, next(self._serial), packet))
        self._loop.call_at(due, self._arrive)

    def _arrive(self) -> None:
        # The heap decides, because asyncio does not keep the order of timers due together.
        self._deliver(heapq.heappop(self._travelling)[2])


def _corrupted(packet: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(packet) * 8)
    changed = bytearray(packet)
    changed[at // 8] ^= 1 << at % 8
    return bytes(changed)
