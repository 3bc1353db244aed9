"""Schedules: what two applications do on a connection, and what happens to its packets on the way.

A schedule is data: it is written as JSON, and played as often as wanted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from scapy_tfo.errors import SetupError

LOST, DOUBLED, SWAPPED, DELAYED, CORRUPTED = "lost", "doubled", "swapped", "delayed", "corrupted"
FAULTS = (LOST, DOUBLED, SWAPPED, DELAYED, CORRUPTED)
"""What a path does to a packet. swapped: it comes behind the next one of its direction. delayed:
beyond the first timeout of its sender. corrupted: one bit of it is another."""
GONE = "gone"
"""From this packet to the target on its client is gone: nothing comes from it any more."""
OUTAGE = "outage"
"""From this packet on nothing of its direction arrives for five seconds."""
LASTING = (GONE, OUTAGE)
"""What befalls the packets behind one, too."""
HALVED, CUT = "halved", "cut"
PIECES = (HALVED, CUT)
"""What a path does that makes two segments of one. halved: both come. cut: the second is lost.
What has no text, and a SYN, passes whole."""
PROGRAM = "program:"
"""Before the number of a program of the fuzzer, which is played instead of a conversation."""
_FATES = {*FAULTS, *LASTING, *PIECES}


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What befalls one packet. index: its number from 0 on, of those sent in its direction."""

    to_target: bool
    index: int
    kind: str

    def __str__(self) -> str:
        return f"{'c' if self.to_target else 's'}{self.index}:{self.kind}"


@dataclass(frozen=True, slots=True, order=True)
class Wrong:
    """A wrong segment to the target, of a kind that `wrong.KINDS` has. after: the number of
    packets that the target has got and sent before."""

    kind: str
    after: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.after}"


@dataclass(frozen=True, slots=True, order=True)
class Deed:
    """Something legal that few clients do, of a kind that `deeds.KINDS` has. after: the number of
    packets that the target has got and sent before it may be done."""

    kind: str
    after: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.after}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """opening: see `opening`. server, client: applications, by their names in `actors`.

    context: what differs from the usual in addresses, ports, options and the like, by the names of
    `context.FACTORS`; what is not named is as usual. faults: in the order of their packets.
    deeds: in the order in which they are done where several may be.
    """

    opening: str = "good"
    server: str = "echo"
    client: str = "write:100"
    context: tuple[tuple[str, str], ...] = ()
    faults: tuple[Fault, ...] = ()
    wrong: Wrong | None = None
    deeds: tuple[Deed, ...] = ()

    def __str__(self) -> str:
        if program_of(self) is not None:
            return self.opening
        text = f"{self.opening}, {self.server}, {self.client}"
        if self.context:
            text += " {" + ", ".join(f"{name} {level}" for name, level in self.context) + "}"
        marks = [str(each) for each in (*self.faults, *self.deeds)]
        if self.wrong is not None:
            marks.append(str(self.wrong))
        return text + ("; " + " ".join(marks) if marks else "")

    @property
    def cell(self) -> Schedule:
        """The same without faults, wrong segments and deeds."""
        return replace(self, faults=(), wrong=None, deeds=())

    @property
    def size(self) -> tuple[int, int, int]:
        """By which schedules are ordered: smaller ones are easier to understand."""
        count = len(self.faults) + len(self.deeds) + (self.wrong is not None)
        last = max((each.index for each in self.faults), default=0)
        return count, len(self.context), last

    @property
    def id(self) -> str:
        """Eight hexadecimal digits of what it is."""
        return hashlib.sha256(json.dumps(to_json(self)).encode()).hexdigest()[:8]


def program_of(schedule: Schedule) -> int | None:
    """The number of the program that is played instead, None for a conversation."""
    word, _, number = schedule.opening.partition(":")
    return int(number) if f"{word}:" == PROGRAM and number.isdecimal() else None


def to_json(schedule: Schedule) -> dict[str, Any]:
    """The schedule as plain JSON values."""
    wrong = schedule.wrong
    return {
        "opening": schedule.opening,
        "server": schedule.server,
        "client": schedule.client,
        "context": dict(schedule.context),
        "faults": [
            {"to": "target" if each.to_target else "client", "index": each.index, "kind": each.kind}
            for each in schedule.faults
        ],
        "wrong": None if wrong is None else {"kind": wrong.kind, "after": wrong.after},
        "deeds": [{"kind": each.kind, "after": each.after} for each in schedule.deeds],
    }


def from_json(values: Mapping[str, Any]) -> Schedule:
    """The schedule that `to_json` wrote, now or before there were deeds. Raises SetupError for
    anything else."""
    try:
        wrong = values["wrong"]
        made = Schedule(
            str(values["opening"]),
            str(values["server"]),
            str(values["client"]),
            tuple((str(name), str(level)) for name, level in values["context"].items()),
            tuple(
                Fault(
                    {"target": True, "client": False}[each["to"]], int(each["index"]), each["kind"]
                )
                for each in values["faults"]
            ),
            None if wrong is None else Wrong(str(wrong["kind"]), int(wrong["after"])),
            tuple(Deed(str(each["kind"]), int(each["after"])) for each in values.get("deeds", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SetupError(f"this is no schedule: {type(error).__name__} {error}") from None
    if not {each.kind for each in made.faults} <= _FATES:
        raise SetupError(f"this is no schedule that can be played: {made}")
    return made
