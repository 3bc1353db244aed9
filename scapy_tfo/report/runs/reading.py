"""Reads results.json back into the run that it was written from, as far as it says."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.report.json_report import SCHEMA
from scapy_tfo.shape import fault_of, sentence
from scapy_tfo.suite.result import INTERRUPTED, Level, Result, Run, Stack, Verdict

RESULTS = "results.json"
"""The results in the directory of a run."""

GONE = "the target stopped answering before the end"

_RUN = {
    "schema": int,
    "target": str,
    "tool": str,
    "results": list,
    "summary": {"exit_status": int, "notes": list},
}
_RESULT = {
    "case": str,
    "family": int,
    "requirements": list,
    "level": str,
    "verdict": str,
    "reason": str,
    "expected": str,
    "actual": str,
    "flow": str,
    "packets": list,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run from a file. strict: whether a failed SHOULD failed it. exit_status: of its command."""

    path: Path
    run: Run
    strict: bool
    exit_status: int

    @property
    def name(self) -> str:
        """What to call it: its label, or its stack, or its target."""
        stack = self.run.stack
        known = f"{stack.name} {stack.version}".strip() if stack else ""
        return self.run.label or known or self.run.target


def read_run(path: Path) -> Recorded:
    """Read a results.json of `test`, `client` or `pkt run`, or the one in a run's directory.

    Raises SetupError, which says what is wrong with the file.
    """
    if path.is_dir():
        path /= RESULTS
        if not path.exists():
            raise SetupError(
                f"{path.parent} is a directory without {RESULTS}: give the directory of a run, or "
                "a file of its results"
            )
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        fault = fault_of(raw, _RUN) or _fault_of_version(raw["schema"])
        made = None if fault else _recorded(path, raw)
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        made, fault = None, sentence(error)
    if made is None:
        raise SetupError(
            f"{path} holds no results: {fault}; write them with 'scapy-tfo test --json FILE'"
        )
    return made


def _fault_of_version(version: int) -> str:
    if version == SCHEMA:
        return ""
    return f"its 'schema' is {version}, and this scapy-tfo reads {SCHEMA}"


def _recorded(path: Path, raw: Mapping[str, Any]) -> Recorded:
    summary = raw["summary"]
    strict, status = summary["strict"], summary["exit_status"]
    if not isinstance(strict, bool):
        raise ValueError("its 'strict' is neither true nor false")
    run = Run(
        target=raw["target"],
        tool=raw["tool"],
        started=_number(raw.get("started")),
        seconds=_number(raw.get("seconds")),
        results=tuple(_result(each, at) for at, each in enumerate(raw["results"], 1)),
        notes=tuple(map(str, summary["notes"])),
        gone=GONE if status == 3 else "",
        interrupted=status == INTERRUPTED,
        watched={str(rule): int(times) for rule, times in raw.get("watched", {}).items()},
        stack=_stack(raw.get("stack")),
        label=str(raw.get("label", "")),
    )
    return Recorded(path, run, strict, status)


def _result(raw: Mapping[str, Any], number: int) -> Result:
    """number: of the result, counted from 1. Raises ValueError for what a result cannot be."""
    if fault := fault_of(raw, _RESULT, f"result {number}"):
        raise ValueError(fault)
    if raw["family"] not in (4, 6) or not raw["requirements"]:
        raise ValueError(f"result {number} has no family 4 or 6, or no requirement")
    return Result(
        case=raw["case"],
        title=str(raw.get("title", "")),
        family=raw["family"],
        requirements=tuple(map(str, raw["requirements"])),
        level=Level(raw["level"]),
        verdict=Verdict(raw["verdict"]),
        reason=raw["reason"],
        expected=raw["expected"],
        actual=raw["actual"],
        flow=raw["flow"],
        packets=tuple(map(int, raw["packets"])),
        seconds=_number(raw.get("seconds")),
        attempts=int(raw.get("attempts", 1)),
        observed={str(what): str(seen) for what, seen in raw.get("observed", {}).items()},
        known=str(raw.get("known", "")),
        cause=str(raw.get("cause") or ""),
        concerns=tuple(map(str, raw.get("concerns", ()))),
    )


def _stack(raw: Mapping[str, Any] | None) -> Stack | None:
    if raw is None:
        return None
    if fault := fault_of(raw, {"name": str, "version": str}, "its 'stack'"):
        raise ValueError(fault)
    return Stack(raw["name"], raw["version"])


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
