"""Text as an enemy would write it, and things that carry it."""

from __future__ import annotations

import dataclasses
import os
import re
from contextlib import closing
from pathlib import Path

from hypothesis import HealthCheck, settings

from scapy_tfo import __version__
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.fuzz.findings.finding import Finding, Status
from scapy_tfo.fuzz.findings.sightings import put_finding
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.program.program import Program
from tests.fuzz.fakes import make, plan
from tests.pkt.captures import fast_opens

MARKER = "scapy-tfo-was-here"
"""Of a file that code from outside would make in the working directory."""

_PYTHON = f'open("{MARKER}", "w")'
NASTY = (
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m",
    "[/x][red]markup[/red] [link=file:///etc/passwd]:smile:",
    "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;",
    "../../../../loot",
    "/tmp/loot",
    f'"""\n{_PYTHON}\n"""',
    f"'''\n{_PYTHON}\n'''",
    f"\\\n{_PYTHON}\n#",
    f"`touch {MARKER}` $(touch {MARKER}); touch {MARKER} #",
    f"%{{ {_PYTHON} }}%",
    "nul\x00nul",
    "\r\n\t\x0b\x0c\x85\u2028\u2029new lines\n\n",
    "\u202egnp.exe\u2066",
    "\udc80 \ufffe \U0001f600",
    "{host} {0.__class__} %s %n",
    "=cmd|'/c calc'!A1",
    "--out=/tmp/loot",
)
"""Escapes, markup, HTML, paths, Python, shell, NULs, line breaks, reordering, formats."""


LONG = "A" * 10_000_000
DEEP = "[" * 100_000

quick = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def listing(directory: Path, *, but: Path | None = None) -> set[str]:
    """All that is in and below a directory, with sizes; without what is below `but`."""
    found = set()
    for place, folders, files in os.walk(directory):
        if but is not None and Path(place) == but:
            folders.clear()
            continue
        for each in (*folders, *files):
            path = Path(place, each)
            found.add(f"{path} {path.lstat().st_size if each in files else 'directory'}")
    return found


def finding(**changes: object) -> Finding:
    """A confirmed one, at a stack in memory."""
    first = fast_opens()[0].packets
    program: Program = make(1, "rfc")
    held = Finding(
        signature=("ACC-2", "SYN-RCVD", "syn-ack", ""),
        rule="refuses-text",
        status=Status.CONFIRMED,
        number=1,
        seed=1,
        program=program,
        reduced=program,
        expected="the right thing",
        actual="another",
        packets=tuple(TracedPacket(each.when, each.outbound, each.data) for each in first),
        packet=1,
        target="sim:reference",
        version=__version__,
        first_seen=1e9,
    )
    return dataclasses.replace(held, **changes)


def campaign_store(
    path: Path, *, requirement: str = "ACC-2", state: str = "SYN-RCVD", **changes: object
) -> Finding:
    """A store with one finding, as `fuzz` would have kept it."""
    kept = finding(signature=(requirement, state, "syn-ack", ""), **changes)
    with (
        closing(Store.create(path, plan(target=kept.target))) as store,
        store.transaction() as rows,
    ):
        put_finding(rows, kept)
    return kept


_ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def acts(said: str) -> list[str]:
    """Characters of an output that a terminal may act on: all controls but the line feed, and
    those that reorder text."""
    return _ACTING.findall(said)


def commands_of(text: str) -> list[object]:
    """What of a script is run: shell commands and code."""
    lines = [line.action if isinstance(line, tree.Event) else line for line in parse(text).lines]
    return [each for each in lines if isinstance(each, tree.Command | tree.Shell | tree.Code)]
