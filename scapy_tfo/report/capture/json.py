"""The outcomes of the fast opens in a capture, as JSON: schema 1."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scapy_tfo import __version__
from scapy_tfo.dissector.connections import Connection, Reading
from scapy_tfo.errors import SetupError
from scapy_tfo.report.capture.summary import Row, Summary
from scapy_tfo.report.escape import encodable

SCHEMA = 1


def to_json(reading: Reading) -> dict[str, Any]:
    """The capture's summary and each connection, as plain dicts, lists, strings and numbers.

    Times are in seconds, what is not known is null; the names are those of `Connection` and `Row`.
    """
    summary = Summary(reading)
    return {
        "schema": SCHEMA,
        "capture": encodable(str(reading.capture)),
        "tool": f"scapy-tfo {__version__}",
        "tshark": encodable(reading.tool),
        "warnings": [encodable(each) for each in reading.warnings],
        "total": _row(summary.total),
        "outcomes": {row.name: _row(row) for row in summary.outcomes},
        "servers": {each.name: dict(each.counts) for each in summary.servers},
        "clients": {each.name: dict(each.counts) for each in summary.clients},
        "problems": [asdict(each) for each in summary.problems],
        "connections": [_connection(each) for each in reading.connections],
    }


def write_json(reading: Reading, path: Path) -> None:
    """Write the JSON to a file, a line for each connection. Raises SetupError where that fails."""
    try:
        path.write_text(json_text(reading), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def json_text(reading: Reading) -> str:
    """The JSON as text, everything beyond ASCII escaped."""
    lines = []
    for name, value in to_json(reading).items():
        body = json.dumps(value, allow_nan=False)
        if name == "connections" and value:
            records = [json.dumps(each, allow_nan=False) for each in value]
            body = "[\n    " + ",\n    ".join(records) + "\n  ]"
        lines.append(f'  "{name}": {body}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _row(row: Row) -> dict[str, Any]:
    record = asdict(row)
    del record["name"]
    return record


def _connection(connection: Connection) -> dict[str, Any]:
    return asdict(connection)
