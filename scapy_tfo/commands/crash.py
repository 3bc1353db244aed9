"""Tells errors of this tool's own apart from everything else, and keeps what a report needs."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from scapy_tfo import __version__
from scapy_tfo.report.escape import visible

STATUS = 70
"""Exit status of such an error (EX_SOFTWARE of sysexits.h): no verdict is meant by it."""

_LIBRARIES = ("scapy", "rich", "lark")


def tell_crash(error: BaseException, arguments: Sequence[str], directory: Path | None) -> None:
    """Write a report of an error that nobody expected, and name it on standard error.

    directory: where the report goes if it is there; else it goes where temporary files do.
    """
    report = _report(error, arguments)
    what = " ".join(visible(f"{type(error).__name__}: {error}").split())
    said = f"scapy-tfo: internal error ({what}). This is a fault of scapy-tfo, not of the target"
    try:
        path = _kept(report, directory)
    except OSError as trouble:
        told = f"{said}: report it with what follows (no file: {trouble.strerror})\n\n{report}"
    else:
        told = f"{said}: report it, with the file {visible(str(path))}"
    print(told, file=sys.stderr)


def _report(error: BaseException, arguments: Sequence[str]) -> str:
    import platform

    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    lines = [
        f"scapy-tfo {__version__}, Python {platform.python_version()}, {libraries}",
        f"{platform.platform()}, {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}",
        f"command: scapy-tfo {shlex.join(arguments)}",
        "",
        *traceback.format_exception(error),
    ]
    return visible("\n".join(lines))


def _version(library: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "(absent)"


def _kept(report: str, directory: Path | None) -> Path:
    """Write it into a new file. Raises OSError."""
    name = f"scapy-tfo-error-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-"
    where = directory if directory is not None and directory.is_dir() else None
    try:
        return _written(report, name, where)
    except OSError:
        if where is None:
            raise
        return _written(report, name, None)


def _written(report: str, name: str, directory: Path | None) -> Path:
    descriptor, path = tempfile.mkstemp(prefix=name, suffix=".txt", dir=directory)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(report)
    return Path(path)
