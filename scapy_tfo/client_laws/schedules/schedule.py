"""Schedules: how a client's connection is opened, answered, and carried, as data.

One is written as a line, such as `fast, think:300, 3000 {mss 536}; c0:lost s2:delayed`, and read
back from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from scapy_tfo.client_laws.schedules.context import CONTEXT
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.schedule import FAULTS

PLAIN, REQUEST, FAST, REFUSED, OFF = "plain", "request", "fast", "refused", "off"
OPENINGS = (FAST, REQUEST, PLAIN, REFUSED, OFF)
"""By a cookie that was granted; with a request for one; by an application that asks for no fast
open; by a cookie of a key that the server has given up; at a server that has switched it off."""

SERVERS = (
    *("at-once", "think:20", "think:300", "think:1500", "late-close:300", "pieces:50", "long"),
    *("slow-reader:300", "speaks-first", "silent", "aborts"),
)
"""What the server's application does once it has the whole text: answers and closes, at once or so
many milliseconds later; closes later; answers in pieces, or at length; reads late; answers in part
before it has read; closes without a word; resets."""

TEXTS = (1, 100, 1400, 3000, 20_000)
"""Bytes that the client has to say."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What befalls one packet. from_client: the way that it goes. index: its number from 0 on, of
    those sent that way. kind: of `FAULTS`."""

    from_client: bool
    index: int
    kind: str

    def __str__(self) -> str:
        return f"{'c' if self.from_client else 's'}{self.index}:{self.kind}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """opening, server, text: of those above. context: what differs from the usual at the server, by
    the names of `CONTEXT`. faults: of the packets of the connection."""

    opening: str = FAST
    server: str = SERVERS[0]
    text: int = 100
    context: tuple[tuple[str, str], ...] = ()
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        told = f"{self.opening}, {self.server}, {self.text}"
        if self.context:
            told += " {" + ", ".join(f"{name} {level}" for name, level in self.context) + "}"
        return told + (f"; {' '.join(map(str, self.faults))}" if self.faults else "")

    @property
    def size(self) -> tuple[int, int, int]:
        """By which schedules are ordered: smaller ones are easier to understand."""
        odd = (self.server != SERVERS[0]) + (self.opening != FAST) + (self.text != TEXTS[1])
        return len(self.faults) + len(self.context), odd, self.text

    def simpler(self) -> list[Schedule]:
        """The same without one thing that is in it."""
        faults, context = self.faults, self.context
        out = [replace(self, faults=faults[:at] + faults[at + 1 :]) for at in range(len(faults))]
        out += [
            replace(self, context=context[:at] + context[at + 1 :]) for at in range(len(context))
        ]
        if self.server != SERVERS[0]:
            out.append(replace(self, server=SERVERS[0]))
        if self.text > TEXTS[1]:
            out.append(replace(self, text=TEXTS[1]))
        return out


_LINE = re.compile(r"(\S+), (\S+), (\d+)(?: \{(.*)\})?(?:; (.+))?")
_FAULT = re.compile(rf"([cs])(\d+):({'|'.join(FAULTS)})")


def schedule_of(line: str) -> Schedule:
    """The schedule that `str` wrote. Raises SetupError for anything else."""
    found = _LINE.fullmatch(line.strip())
    faults = [_FAULT.fullmatch(each) for each in (found[5] or "").split()] if found else []
    if found is None or None in faults:
        raise SetupError(f"'{line}' is no schedule, as in '{Schedule()}; c0:lost'")
    levels = [each.strip() for each in (found[4] or "").split(",") if each.strip()]
    context = [
        (name, each.removeprefix(name).strip())
        for each in levels
        for name in CONTEXT
        if each.startswith(f"{name} ") and each.removeprefix(name).strip() in CONTEXT[name]
    ]
    server = found[2].partition(":")[0]
    if (
        found[1] not in OPENINGS
        or server not in {each.partition(":")[0] for each in SERVERS}
        or len(context) != len(levels)
    ):
        raise SetupError(f"'{line}' is no schedule: openings are {', '.join(OPENINGS)}")
    made = tuple(
        Fault(each[1] == "c", int(each[2]), each[3]) for each in faults if each is not None
    )
    return Schedule(found[1], found[2], int(found[3]), tuple(context), made)
