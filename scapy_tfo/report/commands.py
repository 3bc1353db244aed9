"""The tshark commands that show the packets of a case."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from scapy_tfo.dissector.files import own_plugin
from scapy_tfo.report.outline import label
from scapy_tfo.suite.result import CapturedPacket, Result, label_of

_MOST_RANGES = 40


class Commands:
    """Commands for the cases of a run. capture: the file that holds its packets."""

    def __init__(self, packets: Iterable[CapturedPacket], capture: Path) -> None:
        self._capture = capture
        self._numbers: dict[str, list[int]] = {}
        for packet in packets:
            self._numbers.setdefault(label_of(packet.comment), []).append(packet.number)

    def command(self, result: Result) -> str:
        """What to type into a shell to see the packets of a case, all its attempts, with what the
        plugin says of them; "" where it has none."""
        numbers = sorted({*self._numbers.get(label(result), ()), *result.packets})
        return tshark_command(self._capture, numbers, label(result)) if numbers else ""


def tshark_command(capture: Path, numbers: Iterable[int], said: str) -> str:
    """A shell's command that shows packets of a capture. numbers: in order, counted from 1.

    said: what the comments of just these packets have in common; it stands in for numbers that
    fall into too many ranges to be typed.
    """
    plugin = own_plugin()
    script = [] if plugin is None else ["-X", f"lua_script:{plugin}"]
    ranges = list(_ranges(numbers))
    wanted = f"frame.number in {{{', '.join(ranges)}}}"
    if len(ranges) > _MOST_RANGES:
        wanted = f'frame.comment contains "{said}"'
    return shlex.join(["tshark", "-r", str(capture), *script, "-Y", wanted])


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    """`3` or `5..9`: runs of numbers, as display filters write them."""
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}..{members[-1]}"
