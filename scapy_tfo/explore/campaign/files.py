"""Findings of an exploration as files: JSON that `scapy-tfo explore replay` reads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.campaign.rehearsal import rehearsed
from scapy_tfo.explore.conversation.run import outcome
from scapy_tfo.explore.conversation.schedule import Schedule, from_json, to_json
from scapy_tfo.explore.explorer import Found, Result
from scapy_tfo.fuzz.findings.finding import packets_to_json

FORMAT = "scapy-tfo explore 1"


def finding_json(target: str, seed: int, found: Found, cause: str) -> dict[str, Any]:
    """A finding as plain JSON values. cause: by which it is told from others."""
    problem = found.problem
    reference = "" if found.before else outcome(rehearsed(found.schedule, seed=seed)[0])
    return {
        "format": FORMAT,
        "cause": cause,
        "target": target,
        "seed": seed,
        "rule": problem.rule,
        "packet": problem.packet,
        "expected": problem.expected,
        "actual": problem.actual,
        "count": found.count,
        "schedule": to_json(found.schedule),
        "before": [to_json(each) for each in found.before],
        "outcome": {"target": found.outcome, "reference": reference},
        "packets": packets_to_json(found.packets),
    }


def result_json(result: Result) -> dict[str, Any]:
    """All of an exploration as plain JSON values."""
    return {
        "format": FORMAT,
        "target": result.target,
        "seed": result.seed,
        "schedules": result.total,
        "played": dict(result.played),
        "merged": result.merged,
        "audits": result.audits,
        "complete": result.complete,
        "covered": {
            "met": [[*met, first] for met, first in sorted(result.covered.met.items())],
            "holes": result.covered.holes,
            "growth": result.covered.growth,
        },
        "findings": [
            finding_json(result.target, result.seed, each, cause)
            for cause, each in result.found.items()
        ],
    }


def file_name_of(cause: str) -> str:
    """The name of the files of a finding, without their endings."""
    return re.sub("[^a-z0-9]+", "-", cause.lower())


def write_findings(result: Result, directory: Path) -> dict[str, Path]:
    """A file for each finding, named by its cause. Raises SetupError where that is impossible."""
    out = {}
    for cause, each in result.found.items():
        path = directory / f"{file_name_of(cause)}.json"
        text = json.dumps(finding_json(result.target, result.seed, each, cause), indent=2)
        try:
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise SetupError(f"cannot write {path}: {error.strerror}") from None
        out[cause] = path
    return out


def read_finding(path: Path) -> tuple[str, int, Schedule, tuple[Schedule, ...]]:
    """Target, seed, schedule, and the schedules before it. Raises SetupError for anything else."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise SetupError(f"{path} is not JSON: {error}") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise SetupError(f"{path} is no finding of 'scapy-tfo explore' (format {FORMAT!r})")
    try:
        before = tuple(map(from_json, values["before"]))
        return str(values["target"]), int(values["seed"]), from_json(values["schedule"]), before
    except (KeyError, TypeError, ValueError) as error:
        raise SetupError(f"{path} is incomplete: {type(error).__name__} {error}") from None
