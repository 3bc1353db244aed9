"""Builds the tshark commands that show the packets of a case.

The plugin is copied beside the capture, and both are named from one directory: so a command holds
no path of the machine that made the report, and works wherever the report's directory is put.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path

from scapy_tfo.dissector import tshark
from scapy_tfo.dissector.files import PLUGIN, own_plugin
from scapy_tfo.errors import SetupError
from scapy_tfo.report.outline import label
from scapy_tfo.suite.result import CapturedPacket, Result, label_of

_MOST_RANGES = 40
_NOT_AS_ROOT = (
    "$(test $(id -u) != 0 || echo env HOME=/ setpriv --reuid 65534 --regid 65534 --clear-groups)"
)
"""Words that a shell puts before a command of root's, so that nobody runs it."""


class Commands:
    """Commands for the cases of a run.

    capture: the file that holds its packets, seen from where the commands will be run; the plugin
    stands beside it if this installation has one.
    """

    def __init__(self, packets: Iterable[CapturedPacket], capture: Path) -> None:
        self._capture = capture
        self._packets = packets

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        # Only what failed is looked for, and mostly nothing has.
        found: dict[str, list[int]] = {}
        for packet in self._packets:
            found.setdefault(label_of(packet.comment), []).append(packet.number)
        return found

    def command(self, result: Result) -> str:
        """What to type into a shell to see the packets of a case, all its attempts, with what the
        plugin says of them; "" where it has none."""
        numbers = sorted({*self._numbers.get(label(result), ()), *result.packets})
        return tshark_command(self._capture, numbers, label(result)) if numbers else ""


def tshark_command(capture: Path, numbers: Iterable[int], said: str) -> str:
    """A shell's command that shows packets of a capture. numbers: in order, counted from 1.

    said: what the comments of just these packets have in common; it stands in for numbers that
    fall into too many ranges to be typed.

    From tshark 4.4 on, only others than root can use a plugin so: root's command is run as nobody,
    who is handed both files open, since the way to them may be closed to others.
    """
    plugin = None if own_plugin() is None else capture.with_name(PLUGIN)
    ranges = list(_ranges(numbers))
    wanted = f"frame.number in {{{', '.join(ranges)}}}"
    if len(ranges) > _MOST_RANGES:
        wanted = f'frame.comment contains "{said}"'
    if plugin is None:
        return shlex.join(["tshark", "-r", str(capture), "-Y", wanted])
    if not _root_is_refused():
        script = ["-X", f"lua_script:{plugin}"]
        return shlex.join(["tshark", "-r", str(capture), *script, "-Y", wanted])
    words = ["tshark", "-r", "-", "-X", "lua_script:/dev/fd/3", "-Y", wanted]
    files = f"3<{shlex.quote(str(plugin))} <{shlex.quote(str(capture))}"
    return f"{_NOT_AS_ROOT} {shlex.join(words)} {files}"


@cache
def _root_is_refused() -> bool:
    """By the tshark of this machine; no where there is none."""
    try:
        return tshark.find().refuses_root
    except SetupError:
        return False


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    """`3` or `5..9`: runs of numbers, as display filters write them."""
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}..{members[-1]}"
