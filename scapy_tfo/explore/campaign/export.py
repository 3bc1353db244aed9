"""Writes findings as a capture, a packetdrill script and a test, as those of the fuzzer are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.audits import AUDITED
from scapy_tfo.explore.campaign.rehearsal import REFERENCE, number_of, packets_of, rehearsed
from scapy_tfo.explore.conversation.schedule import to_json
from scapy_tfo.explore.conversation.world import ROOM
from scapy_tfo.explore.explorer import Found
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.export.export import capture_of, test_of
from scapy_tfo.fuzz.export.script import of_conversation, statement
from scapy_tfo.segment import MalformedPacketError, Segment

_IMPORTS = (
    "from scapy_tfo.explore.campaign.regression import broken_by\n"
    "from scapy_tfo.fuzz.regression import target_of"
)


@dataclass(frozen=True, slots=True)
class _Case:
    """A finding with its packets. name: of its files."""

    name: str
    target: str
    seed: int
    found: Found
    packets: Sequence[TracedPacket]

    @property
    def told(self) -> str:
        problem = self.found.problem
        return f"{problem.rule}: expected {problem.expected}; got {problem.actual}"


def write_exports(name: str, target: str, seed: int, found: Found, directory: Path) -> list[str]:
    """The files of a finding; what could not be made, in words. name: of the files.

    A finding that takes other schedules before it, or shows in an audit, has no packets of its own.
    Raises SetupError where the directory cannot be written to.
    """
    if found.before:
        return []
    case = _Case(name, target, seed, found, packets_of(found, target, seed))
    problems = []
    for ending, make in _FORMATS.items():
        path = directory / ending.format(name=name, word=name.replace("-", "_"))
        try:
            put(path, make(case))
        except OSError as error:
            raise SetupError(f"cannot write {path}: {error.strerror}") from error
        except SetupError as error:
            problems.append(f"no {path.name}: {error}")
    return problems


def _capture(case: _Case) -> bytes:
    _demand_packets(case)
    about = f"{case.name} at {case.target}: {statement(case.found.problem.rule)}"
    number = number_of(case.found.problem, case.packets)
    return capture_of(case.packets, number, case.told, time.time(), case.target, about)


def _script(case: _Case) -> str:
    _demand_packets(case)
    if case.found.problem.rule.startswith(AUDITED):
        raise SetupError("what shows in an audit of many connections makes no script")
    _, right = rehearsed(case.found.schedule, REFERENCE, case.seed)
    about = [
        case.name,
        f"{case.told}, at {case.target}.",
        f"The schedule: {case.found.schedule}.",
    ]
    ports = {each for each in map(_target_port, right) if each}
    queues = dict.fromkeys(ports, ROOM)
    return of_conversation(right, case.packets, queues, about, case.target)


def _target_port(packet: TracedPacket) -> int:
    try:
        segment = Segment.read_back(packet.data)
    except MalformedPacketError:
        return 0
    return segment.dport if packet.outbound else segment.sport


def _test(case: _Case) -> str:
    problem = case.found.problem
    held: dict[str, Any] = {
        "id": case.name,
        "target": case.target,
        "rule": problem.rule,
        "expected": problem.expected,
        "actual": problem.actual,
        "schedule": to_json(case.found.schedule),
    }
    word = case.name.replace("-", "_")
    return test_of(held, "schedule", name=word, what="an exploration", imports=_IMPORTS, more="")


_FORMATS: dict[str, Callable[[_Case], str | bytes]] = {
    "{name}.pcapng": _capture,
    "{name}.pkt": _script,
    "test_{word}.py": _test,
}
"""How a file is called -> what makes its content."""


def _demand_packets(case: _Case) -> None:
    if not case.packets:
        raise SetupError("it has no packets: it shows in an audit")
