"""An exported test is data in a file that Python runs: none of the data is ever code."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.cli import main
from scapy_tfo.fuzz.export.export import as_test
from scapy_tfo.program.program import to_json
from tests.hostile.outside import MARKER, NASTY, campaign_store, finding, quick

_TEXT = st.text() | st.sampled_from(NASTY)


def without_literal(code: str) -> str:
    """The file's syntax tree without its data and the name of its test."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and str(node.value).startswith("\n{"):
            node.value = ""
        if isinstance(node, ast.FunctionDef):
            node.name = "test"
    return ast.dump(tree)


@quick
@given(_TEXT, _TEXT, _TEXT, _TEXT)
def test_whatever_a_finding_says_is_one_json_literal(
    target: str, requirement: str, rule: str, told: str
) -> None:
    held = finding(
        target=target,
        signature=(requirement, told, told, told),
        rule=rule,
        expected=told,
        actual=told,
    )
    code = as_test(held)
    assert code.isascii()
    assert without_literal(code) == without_literal(as_test(finding()))
    (literal,) = (
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and str(node.value).startswith("\n{")
    )
    said = json.loads(literal)
    assert (said["target"], said["rule"], said["actual"]) == (target, rule, told)
    assert said["program"] == json.loads(json.dumps(to_json(held.reduced)))


@pytest.mark.parametrize("text", [each for each in NASTY if MARKER in each])
def test_collection_runs_nothing_of_a_store(text: str, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    campaign_store(store, target=text, requirement=text, expected=text, actual=text, rule=text)
    export = ["fuzz", "export", "all", "--store", str(store), "--output", str(tmp_path)]
    assert main(export) == 0
    (file,) = tmp_path.glob("test_*.py")
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)  # what pytest does to collect it
    assert not Path(MARKER).exists()
    assert not (tmp_path / MARKER).exists()


OLD = '''"""ACC-2-3f9a1c, found by a fuzz campaign at sim:data-is-not-acknowledged.
"""

import pytest

from scapy_tfo.fuzz.regression import broken_by

TARGET = "sim:data-is-not-acknowledged"
RULE = "refuses-text"
PROGRAM = (
    {program!r}
)


def test_acc_2_3f9a1c(request: pytest.FixtureRequest) -> None:
    target = request.config.getoption("--tfo-target") or TARGET
    assert not broken_by(PROGRAM, RULE, target)
'''


def test_files_that_were_exported_before_still_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mutant = "sim:data-is-not-acknowledged"
    assert main(["fuzz", mutant, "--programs", "40", "--out", str(out), "--quiet"]) == 1
    (record, *_) = (
        json.loads(each.read_text()) for each in sorted((out / "findings").glob("ACC-2-*.json"))
    )
    program = json.dumps(record["reduced"], separators=(",", ":"))
    old = OLD.format(program=program).replace("refuses-text", record["rule"])
    names: dict[str, Any] = {}
    exec(compile(old, "test_old.py", "exec"), names)

    def judge(target: str) -> None:
        config = SimpleNamespace(getoption=lambda _name: target)
        names["test_acc_2_3f9a1c"](SimpleNamespace(config=config))

    judge("sim:reference")
    with pytest.raises(AssertionError):
        judge(mutant)
