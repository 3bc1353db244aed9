"""The corpus: schedules that found wrong stacks, and mixtures that meet what others do not.

`scripts/schedules.py` makes it. It is fixed, so that every legal stack was played all of it before
a release.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.schedule import Deed, Fault, Schedule, Wrong
from scapy_tfo.explore.conversation.schedule import from_json as checked
from scapy_tfo.explore.conversation.schedule import to_json as spelled_out

_FILE = "corpus.json"
_USUAL = Schedule()


def corpus() -> tuple[Schedule, ...]:
    """All of them. Raises SetupError where the file is damaged."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    try:
        return tuple(map(from_short, json.loads(text)))
    except ValueError as error:
        raise SetupError(f"{_FILE} of this installation is damaged: {error}") from None


def text_of(schedules: Iterable[Schedule]) -> str:
    """The file that `corpus` reads, with one schedule on a line."""
    lines = (json.dumps(to_short(each), separators=(",", ":")) for each in schedules)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def to_short(schedule: Schedule) -> dict[str, Any]:
    """What differs from the usual schedule."""
    short: dict[str, Any] = {
        name: getattr(schedule, name)
        for name in ("opening", "server", "client")
        if getattr(schedule, name) != getattr(_USUAL, name)
    }
    if schedule.context:
        short["context"] = dict(schedule.context)
    if schedule.faults:
        short["faults"] = [str(each) for each in schedule.faults]
    if schedule.deeds:
        short["deeds"] = [str(each) for each in schedule.deeds]
    if schedule.wrong is not None:
        short["wrong"] = str(schedule.wrong)
    return short


def from_short(short: Mapping[str, Any]) -> Schedule:
    """The schedule that `to_short` wrote. Raises SetupError for anything else."""
    try:
        wrong = short.get("wrong")
        made = Schedule(
            short.get("opening", _USUAL.opening),
            short.get("server", _USUAL.server),
            short.get("client", _USUAL.client),
            tuple(short.get("context", {}).items()),
            tuple(_faults(short.get("faults", ()))),
            None if wrong is None else Wrong(*_placed(wrong)),
            tuple(Deed(*_placed(each)) for each in short.get("deeds", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SetupError(f"this is no schedule: {type(error).__name__} {error}") from None
    return checked(spelled_out(made))


def _faults(told: Iterable[str]) -> Iterator[Fault]:
    for each in told:
        place, _, kind = each.partition(":")
        yield Fault({"c": True, "s": False}[place[0]], int(place[1:]), kind)


def _placed(told: str) -> tuple[str, int]:
    kind, _, after = told.rpartition("@")
    return kind, int(after)
