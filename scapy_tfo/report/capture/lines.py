"""Each connection of captures as CSV and as JSON: schema 2. Written as they come, kept nowhere."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, Protocol, TextIO

from scapy_tfo import __version__
from scapy_tfo.dissector.connections import Connection
from scapy_tfo.errors import SetupError
from scapy_tfo.report.capture.summary import GROUPS, Summary
from scapy_tfo.report.capture.tally import Endpoint, Row
from scapy_tfo.report.escape import encodable

SCHEMA = 2
COLUMNS = (
    *("capture", "began", "client", "client_port", "server", "port", "outcome", "why", "frames"),
    *("sent", "acknowledged", "resent", "first_answer", "rtt", "round_trips", "seconds_lost"),
    *("cookie", "problems"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Lines(Protocol):
    """A file that is written connection by connection."""

    def take(self, each: Connection) -> None: ...
    def end(self, summary: Summary) -> None: ...


class JsonLines:
    """The connections, a line each, then the summary. Times are in seconds, what is not known is
    null; the names are those of `Connection` and `Row`."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._between = "\n    "
        self._file.write(f'{{\n  "schema": {SCHEMA},\n  "connections": [')

    def take(self, each: Connection) -> None:
        """Write one."""
        self._file.write(self._between + json.dumps(asdict(each), allow_nan=False))
        self._between = ",\n    "

    def end(self, summary: Summary) -> None:
        """Write what they come to together."""
        self._file.write("\n  ]")
        for name, value in totals(summary).items():
            self._file.write(f',\n  "{name}": {json.dumps(value, allow_nan=False)}')
        self._file.write("\n}\n")


class CsvLines:
    """A line of the columns' names, and one for each connection. What a spreadsheet would take for
    a formula stands behind an apostrophe."""

    def __init__(self, file: TextIO) -> None:
        self._rows = csv.writer(file, lineterminator="\n")
        self._rows.writerow(COLUMNS)

    def take(self, each: Connection) -> None:
        """Write one."""
        record = asdict(each)
        record["frames"] = " ".join(map(str, each.frames))
        record["problems"] = "; ".join(f"{one.rule} ({one.frame})" for one in each.problems)
        self._rows.writerow([_harmless(record[name]) for name in COLUMNS])

    def end(self, _summary: Summary) -> None:
        """Nothing is left to write."""


def _harmless(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return encodable(value) if isinstance(value, str) else value


@contextmanager
def writing(path: Path, kind: type[JsonLines | CsvLines]) -> Iterator[Lines]:
    """A file of that kind, which takes its place once it is whole. Raises SetupError where it
    cannot be written."""
    try:
        with TemporaryFile("w+", encoding="utf-8", newline="") as aside:
            yield kind(aside)
            aside.seek(0)
            with path.open("w", encoding="utf-8", newline="") as file:
                copyfileobj(aside, file)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def totals(summary: Summary) -> dict[str, Any]:
    """The summary as plain dicts, lists, strings and numbers."""
    return {
        "captures": [encodable(each) for each in summary.captures],
        "tool": f"scapy-tfo {__version__}",
        "tshark": encodable(summary.tool),
        "warnings": [encodable(each) for each in summary.warnings],
        "total": _row(summary.total),
        "outcomes": {row.name: _row(row) for row in summary.outcomes},
        "servers": {each.name: _endpoint(each) for each in summary.servers},
        "subnets": {each.name: _endpoint(each) for each in summary.subnets},
        "clients": {each.name: _endpoint(each) for each in summary.clients},
        "blackholes": [asdict(each) for each in summary.blackholes],
        "series": [
            {
                "began": each.began,
                "width": each.width,
                **{name: each.among(outcomes) for name, outcomes in GROUPS},
                "seconds_lost": round(each.seconds_lost, 6),
            }
            for each in summary.series.buckets()
        ],
        "problems": [asdict(each) for each in summary.problems],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "connections": row.connections,
        "sent": row.sent,
        "acknowledged": row.acknowledged,
        "resent": row.resent,
        "round_trips": row.round_trips,
        "seconds_lost": round(row.seconds_lost, 6),
        "seconds_saved": round(row.seconds_saved, 6),
        "rtt": row.rtts.median,
        "first_answer": row.first_answers.median,
    }


def _endpoint(each: Endpoint) -> dict[str, Any]:
    return {
        "connections": each.connections,
        "outcomes": dict(each.counts),
        "seconds_lost": round(each.seconds_lost, 6),
        "seconds_saved": round(each.seconds_saved, 6),
        "rtt": each.rtts.median,
    }
