"""A run as JSON: schema 1 of the command line's contract (results.schema.json beside this file)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.report.escape import encodable
from scapy_tfo.report.outline import Outline, counts_of
from scapy_tfo.suite.result import Level, Result, Run, Stack, Standing

SCHEMA = 1

SCHEMA_FILE = Path(__file__).with_name("results.schema.json")
"""The JSON schema (2020-12) that each such document obeys."""


def to_json(run: Run, *, strict: bool = False) -> dict[str, Any]:
    """The run as plain dicts, lists, strings and finite numbers.

    In `summary`, the five verdicts count every result; `failed` those that fail the run,
    `warnings` FAILs that do not, `known` listed failures, `fixed` listed failures that passed,
    `retries` the attempts beyond each case's first. `started` is seconds since the epoch.
    `watched` has, by the name of a rule of TCP, how many packets it was held against. `stack` is
    None where nobody has said what the target is.
    """
    outline = Outline(run, strict=strict)
    levels = {}
    for level in Level:
        of_level = [each for each in run.results if each.level == level]
        levels[level.value] = counts_of(of_level)
    return {
        "schema": SCHEMA,
        "target": encodable(run.target),
        "tool": encodable(run.tool),
        "label": encodable(run.label),
        "stack": _stack(run.stack),
        "started": _number(run.started),
        "seconds": _number(run.seconds),
        "results": [record_of(each) for each in run.results],
        "watched": dict(sorted(run.watched.items())),
        "summary": {
            **counts_of(run.results),
            "total": len(run.results),
            "failed": outline.counts[Standing.FAIL] + outline.counts[Standing.FIXED],
            "warnings": outline.counts[Standing.WARNING],
            "known": outline.counts[Standing.KNOWN],
            "fixed": outline.counts[Standing.FIXED],
            "retries": outline.retries,
            "levels": levels,
            "strict": strict,
            "exit_status": outline.exit_status,
            "notes": [encodable(each) for each in run.notes],
        },
    }


def json_text(run: Run, *, strict: bool = False) -> str:
    """The JSON as text, one line for each result, everything beyond ASCII escaped."""
    document = to_json(run, strict=strict)
    lines = []
    for name, value in document.items():
        if name == "results" and value:
            body = "[\n    " + ",\n    ".join(_dump(each) for each in value) + "\n  ]"
        else:
            body = _dump(value)
        lines.append(f"  {_dump(name)}: {body}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_json(run: Run, path: Path, *, strict: bool = False) -> None:
    """Write the JSON to a file. Raises SetupError where that is not possible."""
    try:
        path.write_text(json_text(run, strict=strict), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write the JSON report {path}: {error.strerror}") from error


def record_of(result: Result) -> dict[str, Any]:
    """One of the `results`."""
    return {
        "case": encodable(result.case),
        "title": encodable(result.title),
        "family": result.family,
        "requirements": [encodable(each) for each in result.requirements],
        "level": result.level.value,
        "verdict": result.verdict.value,
        "reason": encodable(result.reason),
        "expected": encodable(result.expected),
        "actual": encodable(result.actual),
        "flow": encodable(result.flow),
        "packets": list(result.packets),
        "seconds": _number(result.seconds),
        "attempts": result.attempts,
        "observed": {
            encodable(what): encodable(seen) for what, seen in sorted(result.observed.items())
        },
        "known": encodable(result.known),
        "cause": encodable(result.cause) or None,
        "concerns": [encodable(each) for each in result.concerns],
    }


def _stack(stack: Stack | None) -> dict[str, str] | None:
    if stack is None:
        return None
    return {"name": encodable(stack.name), "version": encodable(stack.version)}


def _number(value: float) -> float | None:
    """Six decimals; None for what JSON has no number for."""
    return round(value, 6) if math.isfinite(value) else None


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
