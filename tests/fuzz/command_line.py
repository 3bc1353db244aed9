"""What the tests of the command `scapy-tfo fuzz` share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MUTANT = "sim:data-is-not-acknowledged"


def results(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def first(campaign: Path, requirement: str = "ACC-2") -> str:
    """The id of a finding about a requirement."""
    findings = results(campaign / "results.json")["findings"]
    return str(next(each["id"] for each in findings if each["requirement"] == requirement))


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The last line on standard error."""
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("scapy-tfo: ")
    return line
