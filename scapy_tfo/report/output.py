"""Writes a run's files: results.json, junit.xml, report.txt, report.html, capture.pcapng, and the
plugin that shows the capture in Wireshark, tfo.lua."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from scapy_tfo.capture.writer import pcapng
from scapy_tfo.dissector.files import PLUGIN, own_plugin
from scapy_tfo.errors import SetupError
from scapy_tfo.files.writing import put
from scapy_tfo.report.commands import Commands
from scapy_tfo.report.diagram import Trace
from scapy_tfo.report.escape import visible
from scapy_tfo.report.html import html_page
from scapy_tfo.report.json_report import json_text
from scapy_tfo.report.junit import junit_xml
from scapy_tfo.report.outline import Outline, Requirements, load_requirements
from scapy_tfo.report.text import summary
from scapy_tfo.suite.result import Run

BASE = Path("tfo-results")
"""Default directory of the runs."""

CAPTURE = "capture.pcapng"
"""The file that holds a run's packets."""

LATEST = "latest"
"""The symbolic link in BASE to its newest run."""

REPORTS = ("results.json", "junit.xml", "report.txt", "report.html", CAPTURE, PLUGIN)
"""Files that a run writes into its directory."""

_MOST_RUNS_A_SECOND = 1000

_KEPT_APART = {
    ".gitignore": "# Results of scapy-tfo: no part of a repository.\n*\n",
    "conftest.py": (
        '"""Keeps pytest from collecting the tests of findings below: name a file to run it."""\n\n'
        'collect_ignore_glob = ["*"]\n'
    ),
}
"""Files of BASE, which may well be made in a repository of the user's."""


def write_all(
    run: Run,
    directory: Path | None = None,
    *,
    strict: bool = False,
    base: Path = BASE,
    catalogue: Requirements | None = None,
) -> Path:
    """Write every report of a run and return the directory that holds them.

    Without `directory` it is a new one under `base`, named after the run's start in UTC, and
    `base/latest` is pointed at it once it is complete. catalogue: the requirements, where not
    those of specs/. Raises SetupError where a file cannot be written, or specs/ not be read.
    """
    requirements = load_requirements() if catalogue is None else catalogue
    trace = Trace(run.packets)
    place = begin(directory, run.started, base=base)
    commands = Commands(run.packets, Path(CAPTURE))
    text = summary(run, strict=strict, catalogue=requirements, trace=trace, commands=commands)
    page = html_page(run, strict=strict, catalogue=requirements, trace=trace, commands=commands)
    try:
        put(place / "results.json", json_text(run, strict=strict))
        put(place / "junit.xml", junit_xml(run, strict=strict, trace=trace))
        put(place / "report.txt", text)
        put(place / "report.html", page)
        about = f"{run.tool} at {run.target}: {Outline(run, strict=strict).verdict_line()}"
        # What is gone may have flooded us, and then not all is kept.
        whole = not run.gone
        put(place / CAPTURE, pcapng(run.packets, comment=visible(about), is_whole=whole))
        if plugin := own_plugin():
            put(place / PLUGIN, plugin.read_bytes())
    except OSError as error:
        raise _unwritable(place, error) from error
    if directory is None:
        point_latest(place, base=base)
    return place


def begin(directory: Path | None, started: float, *, base: Path = BASE) -> Path:
    """The directory for a run's files: the one given, or a new one under `base`, named after the
    run's start in UTC. Raises SetupError where it cannot be made."""
    return _new_directory(base, started) if directory is None else _made(directory)


def earlier_reports(directory: Path | None) -> list[str]:
    """The reports in a directory that a run, told to write there, will replace."""
    if directory is None:
        return []
    return [each for each in REPORTS if os.path.lexists(directory / each)]


def check_writable(directory: Path | None = None, *, base: Path = BASE) -> None:
    """Find out before a run whether its reports can be written; makes nothing.

    Raises SetupError if they cannot.
    """
    wanted = place = base if directory is None else directory
    while not os.path.lexists(place):
        place = place.parent
    if not place.is_dir():
        raise SetupError(f"cannot write reports into {wanted}: {place} is not a directory")
    if not os.access(place, os.W_OK | os.X_OK):
        raise SetupError(
            f"cannot write reports into {wanted}: no permission in {place}; choose another --out"
        )
    latest = base / LATEST
    if directory is None and latest.exists() and not latest.is_symlink():
        raise SetupError(f"{latest} is not a symbolic link: move it away, or give --out")


def check_file(path: Path) -> None:
    """Find out before a run whether a file can be written; makes nothing.

    Raises SetupError if it cannot.
    """
    try:
        if not path.parent.is_dir():
            raise SetupError(f"cannot write {path}: there is no directory {path.parent}")
        if path.is_dir():
            raise SetupError(f"cannot write {path}: it is a directory")
        may = os.access(path if path.exists() else path.parent, os.W_OK)
    except PermissionError:
        may = False
    if not may:
        raise SetupError(f"cannot write {path}: no permission")


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(directory, error) from error
    return directory


def _new_directory(base: Path, started: float) -> Path:
    _made(base)
    for name, content in _KEPT_APART.items():
        # What the user put there stays, and a directory that is closed is complained of below.
        with suppress(OSError), open(base / name, "x", encoding="utf-8") as file:
            file.write(content)
    name = f"{datetime.fromtimestamp(started, UTC):%Y%m%dT%H%M%SZ}"
    for number in range(1, _MOST_RUNS_A_SECOND):
        place = base / (name if number == 1 else f"{name}-{number}")
        try:
            place.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(place, error) from error
        return place
    raise SetupError(f"{base} already holds {_MOST_RUNS_A_SECOND} runs named {name}: give --out")


def point_latest(place: Path, *, base: Path = BASE) -> None:
    """Point `base/latest` at a run's directory. Raises SetupError."""
    # A link is made aside and renamed, so that `latest` is never absent nor half there.
    aside = base / f".{LATEST}-{place.name}"
    try:
        aside.unlink(missing_ok=True)
        aside.symlink_to(place.name, target_is_directory=True)
        try:
            aside.replace(base / LATEST)
        except OSError:
            aside.unlink()
            raise
    except OSError as error:
        raise SetupError(
            f"the reports are in {place}, but {base / LATEST} cannot point there:"
            f" {error.strerror}; move it away, or give --out"
        ) from error


def _unwritable(place: Path, error: OSError) -> SetupError:
    return SetupError(f"cannot write reports into {place}: {error.strerror}; choose another --out")
