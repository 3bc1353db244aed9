"""scripts/small_faults.py: each fault changes one place, and the stack that has it is judged."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "small_faults.py"


@pytest.fixture
def faults_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Iterator[Any]]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import small_faults

    return small_faults.faults_of  # type: ignore[no-any-return]


def test_the_faults_of_a_module_are_what_they_say(faults_of: Callable[[str], Any]) -> None:
    found = list(faults_of("parts.throttle"))
    said = {(each.before, each.after) for each in found}
    assert ("self._count <= self._limit", "self._count < self._limit") in said
    assert ("self._since + 1", "self._since - 1") in said
    assert ("self._count += 1", "pass") in said
    assert len({each.source for each in found}) == len(found)
    for each in found:
        ast.parse(each.source)


def test_a_stack_with_a_fault_is_judged(faults_of: Callable[[str], Any]) -> None:
    number = next(
        place
        for place, each in enumerate(faults_of("recvside"))
        if each.before == "skip < 0" and each.after == "skip <= 0"
    )
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--judge", "recvside", str(number)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith('["cases", ')
