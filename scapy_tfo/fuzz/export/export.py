"""Exports a finding as JSON, a capture, a packetdrill script or a pytest regression."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.capture.writer import pcapng
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.differences import DIFFERS
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.files.names import file_name
from scapy_tfo.files.writing import in_bytes, make_directory, put
from scapy_tfo.fuzz.export.script import as_script, demand_packets, statement
from scapy_tfo.fuzz.findings.finding import Finding, Status, to_record
from scapy_tfo.program.program import to_json

_LINKTYPE_RAW = 101
_SURELY = 0.9
_LEAST = 0.2
"""Of the time that nothing came, the part a script waits for, and the least it waits (seconds)."""


_TEST = """\
\"\"\"A finding of {what}: the test fails as long as the target does what FINDING says.

`pytest --tfo-target TARGET` judges another target than the one where it was found.
\"\"\"

import json

import pytest

{imports}

FINDING = json.loads(
    r'''
{literal}
'''
)


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> list[str]:
    target = target_of(request.config.getoption("--tfo-target"), FINDING["target"])
    return broken_by(json.dumps(FINDING["{key}"]), FINDING["rule"], target{more})


def test_{name}(broken: list[str]) -> None:
    assert not broken
"""


@dataclass(frozen=True, slots=True)
class _Packet:
    """As the writer of captures wants it."""

    when: float
    outbound: bool
    data: bytes
    comment: str


def as_json(finding: Finding) -> str:
    """The record, with its program, which `fuzz replay` takes."""
    return json.dumps(to_record(finding), indent=1) + "\n"


def as_capture(finding: Finding) -> bytes:
    """The packets of the reduced program; the one that is wrong has the verdict for its comment."""
    demand_packets(finding)
    told = f"{finding.requirement}: expected {finding.expected}; got {finding.actual}"
    about = f"{finding.id} at {finding.target}: {statement(finding.requirement)}"
    return capture_of(
        finding.packets, finding.packet, told, finding.first_seen, finding.target, about
    )


def capture_of(
    packets: Sequence[TracedPacket], number: int, told: str, when: float, target: str, about: str
) -> bytes:
    """A capture of packets. number: of the one that is wrong, -1 where none is. told: the verdict.
    when: they began, in seconds since the epoch. about: a line on all."""
    made = [
        _Packet(when + each.when, each.outbound, each.data, told if at == number else "")
        for at, each in enumerate(packets)
    ]
    if number < 0:
        last = made[-1]
        made[-1] = _Packet(last.when, last.outbound, last.data, f"behind this: {told}")
    return pcapng(made, interface=target, comment=about, is_whole=True)


def as_test(finding: Finding) -> str:
    """A test that fails as long as the target does it; `--tfo-target` names another target.

    The program runs in a fixture, so that a target that cannot be judged is an error of the test.
    Python runs this file while it looks for tests. So all that comes from the finding, which may
    be somebody else's, is one JSON literal in it: it is ASCII, and has no quote that could end it.
    """
    held = {
        "id": finding.id,
        "target": finding.target,
        "requirement": finding.requirement,
        "statement": statement(finding.requirement),
        "rule": finding.rule,
        "expected": finding.expected,
        "actual": finding.actual,
        "program": to_json(finding.reduced),
    }
    return test_of(
        held,
        "program",
        name=_identifier(finding),
        what="a fuzz campaign",
        imports="from scapy_tfo.fuzz.regression import broken_by, target_of",
        more=', FINDING["requirement"]',
    )


def test_of(
    held: Mapping[str, Any], key: str, *, name: str, what: str, imports: str, more: str
) -> str:
    """The text of a test. held: what is found, as plain JSON values, with "target" and "rule".
    key: of what is run again. name: a part of the test's. imports: `broken_by` and `target_of`.
    more: further arguments of `broken_by`."""
    literal = json.dumps(held, indent=1, ensure_ascii=True).replace("'", "\\u0027")
    return _TEST.format(name=name, literal=literal, key=key, what=what, imports=imports, more=more)


FORMATS: dict[str, tuple[str, Callable[[Finding], str | bytes]]] = {
    "json": ("{id}.json", as_json),
    "pcapng": ("{id}.pcapng", as_capture),
    "pkt": ("{id}.pkt", as_script),
    "pytest": ("test_{name}.py", as_test),
}
"""Name of a format -> how its file is called, and what makes its content."""

_OF_PACKETS = ("pcapng", "pkt")


def write(finding: Finding, form: str, directory: Path) -> Path:
    """One file of a finding in a directory. Raises SetupError where it cannot be made."""
    name, make = FORMATS[form]
    path = directory / name.format(id=file_name(finding.id), name=_identifier(finding))
    content = make(finding)
    try:
        put(path, content)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
    return path


def write_to(finding: Finding, form: str, path: Path) -> None:
    """The file of a finding that a user named. Raises SetupError where it cannot be made."""
    content = FORMATS[form][1](finding)
    try:
        path.write_bytes(in_bytes(content))
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def write_all(finding: Finding, directory: Path) -> list[str]:
    """Every file that can be made of a finding; what could not, in words.

    A flaky one that keeps no packets has none to write, and a difference between two targets no
    script. Raises SetupError where the directory cannot be written to.
    """
    problems = []
    for form in FORMATS:
        if form in _OF_PACKETS and not finding.packets and finding.status is Status.FLAKY:
            continue
        if form == "pkt" and finding.requirement == DIFFERS:
            continue
        try:
            write(finding, form, directory)
        except SetupError as error:
            if isinstance(error.__cause__, OSError):
                raise
            problems.append(f"{finding.id} as {form}: {error}")
    return problems


def write_artefacts(findings: Sequence[Finding], directory: Path) -> list[str]:
    """The files of findings, in a directory that is made for them; what could not be made, in
    words. Raises SetupError where it cannot be written to."""
    if not findings:
        return []
    try:
        make_directory(directory)
    except OSError as error:
        raise SetupError(f"cannot write into {directory}: {error.strerror}") from error
    return [problem for each in findings for problem in write_all(each, directory)]


def _identifier(finding: Finding) -> str:
    """The id as a part of a name in Python."""
    return re.sub("[^a-z0-9]", "_", file_name(finding.id).lower())
