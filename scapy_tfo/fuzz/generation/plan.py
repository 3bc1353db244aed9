"""The plan of a campaign: its seeds in batches, and the batches of each shard."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.units import seconds_of

BATCH = 4096
"""Programs in a batch unless told otherwise: what a killed run loses at most."""

SECTIONS = 8
"""Equal parts of a batch."""

MOST_PROGRAMS = 1 << 32
"""Of one campaign: its number takes the bits of a seed above these."""

AUTO, MODEL, TARGET, NONE = COVERAGES = ("auto", "model", "target", "none")
"""What the corpus knows of what a program has covered: all that there is, or states alone."""

_MOST_CAMPAIGNS = 1 << 31
_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A campaign, or a shard of one.

    target: as the user gave it. profile: what the model allows. live: the target does not begin
    anew with each program, and time there is real. grammar: version of what makes programs of
    seeds. seed: number of the campaign; its programs have the seeds from `seed << 32` on. shard:
    which batches are ours, `(3, 16)` for every 16th from the third on.
    batch: programs in each. mutate: whether some of each batch are mutations of what reached
    something new. volleys: of single SYNs, behind the programs of each batch. base: fingerprint
    of the corpus it began with, "" for none. coverage: what makes a program worth keeping, one of
    `COVERAGES`.
    """

    target: str
    profile: str
    grammar: str
    live: bool = False
    seed: int = 0
    shard: tuple[int, int] = (1, 1)
    batch: int = BATCH
    mutate: bool = True
    volleys: int = 0
    base: str = ""
    coverage: str = AUTO

    def __post_init__(self) -> None:
        if not 0 <= self.seed < _MOST_CAMPAIGNS:
            raise SetupError(f"seed {self.seed}: give 0 to {_MOST_CAMPAIGNS - 1}")
        if self.batch < SECTIONS or self.batch % SECTIONS:
            raise SetupError(f"batches of {self.batch}: give a multiple of {SECTIONS}")
        if not 1 <= self.shard[0] <= self.shard[1]:
            raise SetupError(f"shard {self.shard_text}: the first number goes from 1 to the second")

    @property
    def shard_text(self) -> str:
        """As the command line has it: `3/16`."""
        return f"{self.shard[0]}/{self.shard[1]}"

    @property
    def themes(self) -> str:
        """The profile that the grammar is told."""
        return "live" if self.live else self.profile

    def seed_of(self, number: int) -> int:
        """The seed of the campaign's program `number`, from 0."""
        return (self.seed << 32) + number

    def batches(self, programs: int | None = None) -> Iterator[tuple[int, range]]:
        """The batches of this shard, each with the numbers of its programs.

        programs: of the whole campaign, all shards together; None goes on to the last seed.
        """
        total = MOST_PROGRAMS if programs is None else min(programs, MOST_PROGRAMS)
        first, step = self.shard[0] - 1, self.shard[1]
        for number in range(first, -(-total // self.batch), step):
            start = number * self.batch
            yield number, range(start, min(start + self.batch, total))

    def to_json(self) -> dict[str, Any]:
        """As plain values, which `from_json` reads."""
        return {**dataclasses.asdict(self), "shard": list(self.shard)}

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Plan:
        """Raises TypeError, KeyError or ValueError for anything that `to_json` did not make."""
        first, of = raw["shard"]
        return cls(**{**raw, "shard": (int(first), int(of))})

    def difference(self, other: Plan, *, but: tuple[str, ...] = ()) -> str:
        """What another plan has otherwise, `profile rfc, not linux`; "" for nothing.

        but: fields that may differ.
        """
        for field in dataclasses.fields(self):
            ours, theirs = getattr(self, field.name), getattr(other, field.name)
            if field.name not in but and ours != theirs:
                return f"{field.name} {_shown(theirs)}, not {_shown(ours)}"
        return ""


def _shown(held: object) -> str:
    return "/".join(map(str, held)) if isinstance(held, tuple) else str(held) or "none"


def parse_shard(text: str) -> tuple[int, int]:
    """`3/16` as numbers. Raises SetupError."""
    found = _SHARD.fullmatch(text)
    if found is None or int(found[1]) > int(found[2]):
        raise SetupError(f"--shard '{text}': write 3/16 for the third of sixteen")
    return int(found[1]), int(found[2])


def parse_duration(text: str) -> float:
    """`90`, `90s`, `30m`, `2h` or `1d` in seconds. Raises SetupError."""
    try:
        seconds = seconds_of(text)
    except ValueError:
        seconds = 0.0
    if not seconds:
        raise SetupError(f"--for '{text}': write a time as 90s, 30m or 2h")
    return seconds
