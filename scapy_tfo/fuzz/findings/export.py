"""Exports a finding as JSON, a capture, a packetdrill script or a pytest regression."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo import spec
from scapy_tfo.capture.connections import captured, connections
from scapy_tfo.capture.reader import Frame
from scapy_tfo.capture.writer import pcapng
from scapy_tfo.errors import SetupError
from scapy_tfo.files.names import file_name
from scapy_tfo.files.writing import in_bytes, make_directory, put
from scapy_tfo.fuzz.findings.finding import Finding, Status, to_record
from scapy_tfo.packet import key_of
from scapy_tfo.pkt.export.script import Wishes, cookies, export
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.program.program import to_json

_LINKTYPE_RAW = 101
_SURELY = 0.9
_LEAST = 0.2
"""Of the time that nothing came, the part a script waits for, and the least it waits (seconds)."""


_TEST = """\
\"\"\"A finding of a fuzz campaign: the test fails as long as the target does what FINDING says.

`pytest --tfo-target TARGET` judges another target than the one where it was found.
\"\"\"

import json

import pytest

from scapy_tfo.fuzz.regression import broken_by, target_of

FINDING = json.loads(
    r'''
{literal}
'''
)


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> list[str]:
    target = target_of(request.config.getoption("--tfo-target"), FINDING["target"])
    return broken_by(json.dumps(FINDING["program"]), FINDING["rule"], target)


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


def statement(requirement: str) -> str:
    """What a requirement says, and where it stands; "" for what is none."""
    try:
        found = spec.load()[requirement]
    except KeyError:
        return ""
    return f"{found.statement} ({found.level}; {'; '.join(found.source)})"


def as_json(finding: Finding) -> str:
    """The record, with its program, which `fuzz replay` takes."""
    return json.dumps(to_record(finding), indent=1) + "\n"


def as_capture(finding: Finding) -> bytes:
    """The packets of the reduced program; the one that is wrong has the verdict for its comment."""
    _demand_packets(finding)
    told = f"{finding.requirement}: expected {finding.expected}; got {finding.actual}"
    packets = [
        _Packet(
            finding.first_seen + each.when,
            each.outbound,
            each.data,
            told if number == finding.packet else "",
        )
        for number, each in enumerate(finding.packets)
    ]
    if finding.packet < 0:
        last = packets[-1]
        packets[-1] = _Packet(last.when, last.outbound, last.data, f"behind this: {told}")
    about = f"{finding.id} at {finding.target}: {statement(finding.requirement)}"
    return pcapng(packets, interface=finding.target, comment=about)


def as_script(finding: Finding) -> str:
    """A script that replays the packets and expects what came, wrong as that is.

    Of several pairs of addresses it has the one that showed the violation. Raises SetupError where
    no script can say it.
    """
    _demand_packets(finding)
    start = int(finding.first_seen * 1e9)
    silent_from, silence = _silence(finding)
    frames = [
        Frame(
            number=number,
            when=start + round(each.when * 1e9),
            link=_LINKTYPE_RAW,
            data=each.data,
            outbound=each.outbound,
        )
        for number, each in enumerate(finding.packets, 1)
        if finding.packet >= 0 or each.when <= silent_from
    ]
    found = connections(captured(frames, finding.id))
    if not found:
        raise SetupError(f"{finding.id}: a script needs a connection, and its packets hold none")
    culprit = _ends(finding)
    chosen = next(
        (each for each in found if (each.client.address, each.client.port) == culprit), found[0]
    )
    kept = [
        each
        for each in found
        if each.server == chosen.server and each.client.address == chosen.client.address
    ]
    about = [
        finding.requirement,
        statement(finding.requirement) or finding.rule,
        f"{finding.id}: expected {finding.expected}; got {finding.actual}.",
        f"What came from {finding.target} is expected here as it came.",
    ]
    script = export(kept, Wishes(), about=about, granted=cookies(found))
    if finding.packet < 0:
        nothing = tree.Event(tree.Time(), tree.Silence(round(silence * 1e9)))
        script = replace(script, lines=(*script.lines, nothing))
    return show_script(script)


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
    literal = json.dumps(held, indent=1, ensure_ascii=True).replace("'", "\\u0027")
    return _TEST.format(name=_identifier(finding), literal=literal)


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

    A flaky one that keeps no packets has none to write. Raises SetupError where the
    directory cannot be written to.
    """
    problems = []
    for form in FORMATS:
        if form in _OF_PACKETS and not finding.packets and finding.status is Status.FLAKY:
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


def _demand_packets(finding: Finding) -> None:
    if not finding.packets:
        raise SetupError(
            f"{finding.id} has no packets: it is {finding.status}, or no single reply shows it"
        )


def _silence(finding: Finding) -> tuple[float, float]:
    """When nothing came any more, and for how long at least: until we gave up and parted, if that
    was told to the target. Seconds."""
    last = finding.packets[-1]
    before = [each.when for each in finding.packets if each.when < last.when]
    if last.outbound and before and last.when - before[-1] > _LEAST:
        return before[-1], (last.when - before[-1]) * _SURELY
    return last.when, _LEAST


def _ends(finding: Finding) -> tuple[object, int] | None:
    """Our address and port in the packet that is wrong, or in the last from the target."""
    inbound = [each.data for each in finding.packets if not each.outbound]
    wrong = finding.packets[finding.packet] if finding.packet >= 0 else None
    if wrong is not None and not wrong.outbound:
        inbound.append(wrong.data)
    key = key_of(inbound[-1]) if inbound else None
    return None if key is None else (ip_address(key[0]), key[1])


def _identifier(finding: Finding) -> str:
    """The id as a part of a name in Python."""
    return re.sub("[^a-z0-9]", "_", file_name(finding.id).lower())
