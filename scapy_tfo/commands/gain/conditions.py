"""Under which conditions an experiment measures: options, and what is told of them afterwards."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from scapy_tfo.commands.arguments import duration
from scapy_tfo.gain.measuring.awake import LOOP, WAYS
from scapy_tfo.gain.measuring.rounds import MOST

if TYPE_CHECKING:
    from rich.console import Console

    from scapy_tfo.gain.measuring.awake import Awake
    from scapy_tfo.gain.measuring.surroundings import Observer, Surroundings

NO_RESULT = 3
"""Exit status where cells are no result, as where a target cannot be judged."""

WITHHELD = "no result"

_VIRTUAL = (
    "in virtual time: the reference's client and server over the link's model, where only link "
    "and thinking take time; exact, done in seconds, without privilege"
)

_PRECISION = re.compile(r"([0-9]+(?:\.[0-9]+)?)%?")


class Judged(Protocol):
    """A cell of an experiment, a dataclass. refused: why it is no result, or ""."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def refused(self) -> str: ...


Cell = TypeVar("Cell", bound=Judged)


def precision(text: str) -> float:
    """`3%` or `3` as a part of one. Raises ArgumentTypeError."""
    found = _PRECISION.fullmatch(text)
    if found is None or not 0 < float(found[1]) <= 100:
        raise argparse.ArgumentTypeError(f"'{text}': write percent above 0, as 3%")
    return float(found[1]) / 100


def add_conditions(
    parser: argparse.ArgumentParser, rounds: str = "", *, virtual: bool = False
) -> None:
    """`--awake`, `--accept-noise`; with the name of the option that counts rounds also those that
    say when there have been enough; with `virtual`, `--virtual`."""
    group = parser.add_argument_group("the measurement")
    add = group.add_argument
    if rounds:
        add(
            "--precision",
            type=precision,
            metavar="PERCENT",
            help=f"measure until the intervals reach no further than this, as 3%%, for {rounds} or "
            f"{MOST} rounds at most, whichever is more",
        )
        add(
            "--for",
            type=duration,
            dest="most_time",
            metavar="TIME",
            help="measure no longer than this in all, as 10m",
        )
    add(
        "--accept-noise",
        action="store_true",
        help="show also the numbers of cells whose control does not hold",
    )
    if virtual:
        add("--virtual", action="store_true", help=_VIRTUAL)
    add(
        "--awake",
        choices=WAYS,
        default=LOOP,
        help="how the processors are kept from sleeping: a loop of SCHED_IDLE on each, "
        "/dev/cpu_dma_latency, or not at all (default: loop)",
    )


class Conditions:
    """How the processors are kept awake, and what else went on."""

    def __init__(self, awake: Awake | None, observer: Observer) -> None:
        """awake: None on virtual time."""
        self._awake = awake
        self._observer = observer
        self._seen: Surroundings | None = None

    @property
    def seen(self) -> Surroundings:
        """From the beginning to when it was first asked for."""
        if self._seen is None:
            self._seen = self._observer.seen()
        return self._seen

    @property
    def figures(self) -> dict[str, Any]:
        """For the file."""
        if self._awake is None:
            return {"clock": "virtual"}
        around = {"awake": asdict(self._awake), "surroundings": asdict(self.seen)}
        return {"clock": "real", **around}

    def tell(self, console: Console) -> None:
        """The same in words."""
        if self._awake is None:
            console.print("On virtual time: nothing of this machine is in the figures.")
            return
        for each in (self._awake.tells, self.seen.tells):
            console.print(f"{each}.", highlight=False, soft_wrap=True)


@contextmanager
def conditions(chosen: argparse.Namespace) -> Iterator[Conditions]:
    """Keep the processors awake as the options say. Raises SetupError."""
    from scapy_tfo.gain.measuring.ahead import ahead
    from scapy_tfo.gain.measuring.awake import kept_awake
    from scapy_tfo.gain.measuring.surroundings import Observer

    if getattr(chosen, "virtual", False):
        yield Conditions(None, Observer())
        return
    with kept_awake(chosen.awake) as awake, ahead():
        yield Conditions(awake, Observer())


def withheld(cells: Sequence[Cell], chosen: argparse.Namespace, *names: str) -> list[Cell]:
    """The cells, those that are no result without these fields, unless noise is accepted."""
    if chosen.accept_noise:
        return list(cells)
    nothing: dict[str, Any] = dict.fromkeys(names)
    return [replace(each, **nothing) if each.refused else each for each in cells]


def tell_refused(
    console: Console, cells: Sequence[tuple[str, Judged]], chosen: argparse.Namespace
) -> None:
    """Why which cells are no result. cells: each with its name."""
    for where, each in cells:
        if each.refused:
            what = "accepted though it is no result" if chosen.accept_noise else WITHHELD
            console.print(f"{where}: {what}, because {each.refused}.", highlight=False)


def status_of(cells: Sequence[Judged], chosen: argparse.Namespace) -> int:
    """The exit status, after a line on standard error where cells are no result."""
    count = sum(bool(each.refused) for each in cells)
    if not count or chosen.accept_noise:
        return 0
    print(
        f"scapy-tfo: {count} of {len(cells)} cells are no result (--accept-noise shows them)",
        file=sys.stderr,
    )
    return NO_RESULT
