"""Applications that are written out as steps: `steps:write-100,wait-20,rest,wait-2000,read,end`.

Either end may have one. The steps follow one another: `write-N` writes N bytes, `wait-MS` waits so
many milliseconds, `rest` stops reading until `read`, `end` ends the own stream and reads on,
`close` is done with both directions. After the last step, it closes as soon as its peer has ended.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from scapy_tfo.errors import SetupError

NAME = "steps"
_STEP = re.compile(r"(write|wait)-(\d{1,10})|(rest|read|end|close)")

_USUAL_SIZES = (1, 2, 40, 100, 536, 1000, 1448, 1460, 1461)
_LARGE_SIZES = (2920, 4096, 14_600, 40_000, 65_535, 70_000)
_LARGE = 0.15
"""The part of writes that are large: each of them takes many packets."""
_WAITS = (5, 20, 50, 150, 400, 1500, 3000, 8000)
_LONG_WAITS = (70_000, 3_600_000, 2_160_000_000)
"""Milliseconds; the last are 25 days, after which timestamps say nothing (RFC 7323 section 5.5)."""
_LONG_WAIT = 0.1
"""The part of waits that are long."""
_RESTS = (50, 400, 2000, 7000)
_MOST_STEPS = 4
_SHORT = 0.3
"""The part that rest before they have read anything."""


def is_written_out(spec: str) -> bool:
    """Whether an application is written out as steps."""
    return spec.startswith(f"{NAME}:")


def parsed(spec: str) -> list[tuple[str, int]]:
    """The steps of an application, each with its number or 0. Raises SetupError for others."""
    steps = []
    for each in spec.partition(":")[2].split(","):
        match = _STEP.fullmatch(each)
        if match is None:
            raise SetupError(f"application {spec!r}: {each!r} is no step of an application")
        steps.append((match[1] or match[3], int(match[2] or 0)))
    return steps


def longest_wait(spec: str) -> float:
    """The longest wait of an application, in seconds."""
    return max((number / 1000 for step, number in parsed(spec) if step == "wait"), default=0.0)


def drawn(dice: random.Random, *, ends: bool) -> str:
    """An application as chance has it. ends: it ends its stream by itself, or closes; else some
    wait for their peer to end."""
    steps: list[str] = []
    if dice.random() < _SHORT:
        steps += _resting(dice)
    for _ in range(dice.randint(1, _MOST_STEPS)):
        kind = dice.random()
        if kind < 0.6:
            sizes = _LARGE_SIZES if dice.random() < _LARGE else _USUAL_SIZES
            steps.append(f"write-{dice.choice(sizes)}")
        elif kind < 0.85:
            waits = _LONG_WAITS if dice.random() < _LONG_WAIT else _WAITS
            steps.append(f"wait-{dice.choice(waits)}")
        else:
            steps += _resting(dice)
    if ends or dice.random() < 0.5:
        steps.append("close" if dice.random() < 0.25 else "end")
        if steps[-1] == "end" and dice.random() < 0.3:
            steps += _resting(dice)
    return f"{NAME}:{','.join(steps)}"


def _resting(dice: random.Random) -> tuple[str, ...]:
    return "rest", f"wait-{dice.choice(_RESTS)}", "read"


def fewer(spec: str) -> Iterator[str]:
    """The same application with one step less, or with smaller numbers. What stops reading goes on
    doing so."""
    steps = spec.partition(":")[2].split(",")
    for at in range(len(steps) - 1):
        without = steps[:at] + steps[at + 1 :]
        if steps[at] == "rest":
            without = [each for each in without if each not in ("rest", "read")]
        if steps[at] != "read" and without:
            yield f"{NAME}:{','.join(without)}"
    for at, each in enumerate(steps):
        if each.startswith("write-") and each not in ("write-1", "write-100"):
            yield f"{NAME}:{','.join([*steps[:at], 'write-100', *steps[at + 1 :]])}"
