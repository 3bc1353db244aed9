"""A run as SARIF 2.1.0 (OASIS), as code scanning reads it: a rule for each requirement that a case
broke, a result for each case that failed.

What passed or could not be judged is left out, since readers show every result as something found.
Known failures are results that are suppressed.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scapy_tfo.errors import SetupError
from scapy_tfo.report.escape import one_line
from scapy_tfo.report.outline import Outline, Requirements, evidence, label, load_requirements
from scapy_tfo.report.page import url_of
from scapy_tfo.suite.result import Result, Run, Standing

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_CAPTURE = "capture.pcapng"
_LEVELS = {Standing.FAIL: "error", Standing.WARNING: "warning", Standing.KNOWN: "error"}
_JUDGED = (0, 1)


def sarif(
    run: Run, *, strict: bool = False, catalogue: Requirements | None = None
) -> dict[str, Any]:
    """The run as plain dicts and lists. catalogue: the requirements, where not those of specs/."""
    outline = Outline(run, strict=strict)
    requirements = load_requirements() if catalogue is None else catalogue
    found = [(each, place) for each, place in outline.standings if place in _LEVELS]
    rules = list(dict.fromkeys(each.requirements[0] for each, _ in found))
    name, _, version = run.tool.partition(" ")
    driver: dict[str, Any] = {
        "name": one_line(name) or "scapy-tfo",
        "rules": [_rule(each, requirements) for each in rules],
    }
    if version:
        driver["version"] = one_line(version)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [_invocation(outline)],
                "results": [_result(*each, rules, run.target) for each in found],
            }
        ],
    }


def write_sarif(run: Run, path: Path, *, strict: bool = False) -> None:
    """Write it to a file. Raises SetupError where that is not possible."""
    try:
        path.write_text(json.dumps(sarif(run, strict=strict), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write the SARIF report {path}: {error.strerror}") from error


def _invocation(outline: Outline) -> dict[str, Any]:
    run = outline.run
    made: dict[str, Any] = {
        "executionSuccessful": outline.exit_status in _JUDGED,
        "exitCode": outline.exit_status,
    }
    if math.isfinite(run.started) and math.isfinite(run.seconds):
        made["startTimeUtc"] = _time(run.started)
        made["endTimeUtc"] = _time(run.started + run.seconds)
    return made


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _rule(identity: str, requirements: Requirements) -> dict[str, Any]:
    requirement = requirements.get(identity)
    if requirement is None:
        return {"id": one_line(identity)}
    made = {
        "id": identity,
        "shortDescription": {"text": f"{identity} ({requirement.level.value})"},
        "fullDescription": {"text": requirement.statement},
        "help": {"text": f"{requirement.statement}\nSource: {'; '.join(requirement.source)}"},
    }
    urls = filter(None, map(url_of, requirement.source))
    if url := next(urls, ""):
        made["helpUri"] = url
    return made


def _result(result: Result, place: Standing, rules: list[str], target: str) -> dict[str, Any]:
    rule = result.requirements[0]
    said = [f"{label(result)}: {result.reason}"]
    said += [f"expected: {result.expected}", f"actual: {result.actual}", evidence(result)]
    made: dict[str, Any] = {
        "ruleId": one_line(rule),
        "ruleIndex": rules.index(rule),
        "level": _LEVELS[place],
        "message": {"text": "\n".join(map(_plain, said))},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _place(target)}},
                "logicalLocations": [
                    {"name": one_line(label(result)), "fullyQualifiedName": one_line(target)}
                ],
            }
        ],
        "partialFingerprints": {"case/v1": one_line(label(result))},
    }
    if place is Standing.KNOWN:
        made["suppressions"] = [{"kind": "external", "justification": one_line(result.known)}]
    return made


def _place(target: str) -> str:
    """A file for readers that demand one: the target file, or else the capture."""
    is_file = target.endswith(".toml") and ":" not in target
    return quote(target, errors="replace") if is_file else _CAPTURE


def _plain(text: str) -> str:
    """A line in which no embedded link of SARIF (3.11.6) can begin."""
    escaped = one_line(text).replace("\\", "\\\\")
    return escaped.replace("[", "\\[").replace("]", "\\]")
