"""Lets tshark and the plugin judge every fast open of a capture, and hands them on one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.dissector import files, tshark
from scapy_tfo.dissector.connections import Connection, connection_of
from scapy_tfo.dissector.source import Source
from scapy_tfo.errors import SetupError

_ERRORS = ("-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message")
_PATIENCE = 60.0
_BEGIN, _END = "tfo-records-begin", "tfo-records-end"

Take = Callable[[Connection], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of a capture. capture: its name. count: connections. packets: how many of the
    capture were read; tcp: of these with TCP, where no connection was found in a file, else None.
    warnings: why there may be more in it than was read. is_file: whether it can be read again."""

    capture: str
    count: int
    packets: int
    is_file: bool = True
    tcp: int | None = None
    warnings: tuple[str, ...] = ()


def program() -> tshark.Tshark:
    """The tshark that reads captures. Raises SetupError where there is none that can."""
    found = tshark.find()
    if not found.lua:
        raise SetupError(f"{found.text} was built without Lua, which the plugin needs")
    return found


def try_filter(display_filter: str) -> None:
    """Raises SetupError where a filter is none: a tap would not say what is wrong with it."""
    arguments = ["-c", "1", "-Y", display_filter]
    sample = files.sample()
    done = tshark.run_alone(
        program(), arguments, capture=sample, plugin=files.plugin(), patience=_PATIENCE
    )
    if done.status:
        raise SetupError(f"'{display_filter}' is not a display filter: {_said(done)}")


class _Records:
    """Takes tshark's lines. packets: that the plugin was handed; failed: on how many of them it
    did not come to its end; cut: SYNs without data whose options were not captured."""

    def __init__(self, name: str, take: Take) -> None:
        self._name, self._take = name, take
        self._begun = False
        self.ended = False
        self.count = self.packets = self.failed = self.cut = 0

    def line(self, line: str) -> None:
        """Raises ValueError where the plugin's answer is damaged."""
        if line == _BEGIN:
            self._begun = True
        elif line.startswith(_END) and self._begun:
            self.packets, self.failed, self.cut = map(int, line.split("\t")[1:])
            self.ended = True
        elif self._begun and not self.ended:
            self._take(connection_of(line, self._name))
            self.count += 1


def read(source: Source, take: Take, *, display_filter: str = "") -> Reading:
    """Let tshark and the plugin judge the connections of a capture, in one pass.

    take: called with each connection, once all packets were read. display_filter: only packets that
    match are looked at. Raises SetupError where there is no tshark, the capture cannot be read or
    holds no packet, or the plugin fails.
    """
    source.check()
    name = source.name
    tap = f"tfo,records,{display_filter}" if display_filter else "tfo,records"
    records = _Records(name, take)
    try:
        with source.open() as descriptor:
            done = tshark.stream_alone(
                program(),
                ["-q", "-z", tap],
                source=descriptor,
                plugin=files.plugin(),
                take=records.line,
            )
    except ValueError as error:
        raise SetupError(f"the plugin's answer on {name} is damaged: {error!r}") from error
    warnings = _warnings(name, done, is_whole=records.ended)
    if not records.ended:
        raise SetupError(f"the plugin failed on {name}: {_said(done)}")
    if records.failed:
        warnings = (*warnings, _failure(source, records.failed))
    if records.cut:
        warnings = (*warnings, _cut(records.cut))
    if not records.packets and not warnings:
        raise SetupError(f"{name} contains no packets")
    is_told = records.count or source.path is None
    return Reading(
        capture=name,
        count=records.count,
        packets=records.packets,
        is_file=source.path is not None,
        tcp=None if is_told else _tcp(source.path),
        warnings=warnings,
    )


def _cut(count: int) -> str:
    """What a snap length leaves open. With data, such a SYN is told as unknown."""
    noun = "SYN" if count == 1 else "SYNs"
    which = f"the options of {count:,} {noun} without data were not captured"
    return f"{which}: whether fast open was asked for is not known"


def _failure(source: Source, failed: int) -> str:
    """What a plugin's error is, which tshark tells only in the tree of its packet: a second run,
    which costs more than the first, where there is a file to read again."""
    noun = "packet" if failed == 1 else "packets"
    told = f"the plugin failed on {failed:,} {noun}"
    if source.path is not None:
        arguments = ["-Y", "_ws.lua.error", *_ERRORS]
        done = tshark.run_alone(program(), arguments, capture=source.path, plugin=files.plugin())
        number, _, message = (done.output.splitlines() or [""])[0].partition("\t")
        if number:
            told += f", first on {number}: {message.strip()}"
    return f"{told}; what became of their connections may be told wrongly"


def _warnings(name: str, done: tshark.Done, *, is_whole: bool) -> tuple[str, ...]:
    """What is to be told of a run whose result can be used. Raises SetupError where it cannot."""
    told = " ".join(done.complaints).replace("The standard input", name)
    told = told.replace('The file "-"', name)
    if "Lua" in told:
        raise SetupError(f"the plugin failed on {name}: {told}")
    if done.status < 0:
        raise SetupError(f"tshark was killed by signal {-done.status} while reading {name}")
    if not told and not done.status:
        return ()
    if is_whole:
        return (told or f"tshark ended with status {done.status}",)
    raise SetupError(f"tshark cannot read {name}: {told or f'status {done.status}'}")


def _tcp(capture: Path | None) -> int:
    """How many packets of a file are TCP."""
    assert capture is not None
    arguments = ["-Y", "tcp", "-T", "fields", "-e", "frame.number"]
    return len(tshark.run_alone(program(), arguments, capture=capture).output.splitlines())


def _said(done: tshark.Done) -> str:
    return done.complaints[0] if done.complaints else f"tshark ended with status {done.status}"
