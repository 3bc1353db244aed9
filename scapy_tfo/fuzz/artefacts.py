"""A finding as files: JSON, a capture, a packetdrill script, a pytest regression."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.findings import Finding, Status, to_record
from scapy_tfo.fuzz.frames import key_of
from scapy_tfo.fuzz.program import dumps
from scapy_tfo.pkt import tree
from scapy_tfo.pkt.connections import captured, connections
from scapy_tfo.pkt.export import Wishes, cookies, export
from scapy_tfo.pkt.printing import show_script
from scapy_tfo.wire.capture_file import Frame
from scapy_tfo.wire.pcapng import write_pcapng

_LINKTYPE_RAW = 101
_SURELY = 0.9
_LEAST = 0.2
"""Of the time that nothing came, the part a script waits for, and the least it waits (seconds)."""


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


def write_json(finding: Finding, path: Path) -> None:
    """The record, with its program, which `fuzz replay` takes."""
    path.write_text(json.dumps(to_record(finding), indent=1) + "\n", encoding="utf-8")


def write_capture(finding: Finding, path: Path) -> None:
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
    write_pcapng(path, packets, interface=finding.target, comment=about)


def write_script(finding: Finding, path: Path) -> None:
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
        raise SetupError(f"{finding.id}: its packets hold no connection to make a script of")
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
    path.write_text(show_script(script), encoding="utf-8")


def write_test(finding: Finding, path: Path) -> None:
    """A test that fails as long as the target does it; `--tfo-target` names another target."""
    name = finding.id.lower().replace("-", "_")
    lines = [
        f'"""{finding.id}, found by a fuzz campaign at {finding.target}.',
        "",
        *_wrapped(statement(finding.requirement) or finding.rule),
        "",
        f"Expected: {_plain(finding.expected)}",
        f"Got:      {_plain(finding.actual)}",
        '"""',
        "",
        "import pytest",
        "",
        "from scapy_tfo.fuzz.regression import broken_by",
        "",
        f"TARGET = {json.dumps(finding.target)}",
        f"RULE = {json.dumps(finding.rule)}",
        "PROGRAM = (",
        *_chunks(dumps(finding.reduced)),
        ")",
        "",
        "",
        f"def test_{name}(request: pytest.FixtureRequest) -> None:",
        '    target = request.config.getoption("--tfo-target") or TARGET',
        "    assert not broken_by(PROGRAM, RULE, target)",
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


FORMATS: dict[str, tuple[str, Callable[[Finding, Path], None]]] = {
    "json": ("{id}.json", write_json),
    "pcapng": ("{id}.pcapng", write_capture),
    "pkt": ("{id}.pkt", write_script),
    "pytest": ("test_{name}.py", write_test),
}
"""Name of a format -> how its file is called, and what writes it."""

_OF_PACKETS = ("pcapng", "pkt")


def write(finding: Finding, form: str, directory: Path) -> Path:
    """One file of a finding in a directory. Raises SetupError where it cannot be made."""
    name, _ = FORMATS[form]
    path = directory / name.format(id=finding.id, name=finding.id.lower().replace("-", "_"))
    write_to(finding, form, path)
    return path


def write_to(finding: Finding, form: str, path: Path) -> None:
    """One file of a finding. Raises SetupError where it cannot be made."""
    try:
        FORMATS[form][1](finding, path)
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
    if finding.packet >= 0 and not finding.packets[finding.packet].outbound:
        inbound.append(finding.packets[finding.packet].data)
    key = key_of(inbound[-1]) if inbound else None
    return None if key is None else (ip_address(key[0]), key[1])


def _chunks(text: str, width: int = 84) -> Iterable[str]:
    return [f"    {text[at : at + width]!r}" for at in range(0, len(text), width)]


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(_plain(text), 98)


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
