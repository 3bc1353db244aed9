"""Modules compiled by `make compiled` exist, and no interpreted class derives from one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scapy_tfo"


@pytest.fixture(scope="module")
def hot() -> dict[str, Path]:
    """Sources by the names of their modules within the package."""
    for each in ast.parse((ROOT / "scripts" / "compiled_wheel.py").read_text()).body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "HOT":
            return {name: PACKAGE / f"{name}.py" for name in ast.literal_eval(each.value)}
    raise AssertionError("no HOT")


def _bases(source: Path) -> Iterator[tuple[str, str]]:
    """What a module's classes derive from: module within the package, and name."""
    tree = list(ast.walk(ast.parse(source.read_text())))
    origin = {
        name.asname or name.name: (
            each.module.removeprefix("scapy_tfo.").replace(".", "/"),
            name.name,
        )
        for each in tree
        if isinstance(each, ast.ImportFrom) and each.module
        for name in each.names
    }
    for each in tree:
        for base in each.bases if isinstance(each, ast.ClassDef) else ():
            if isinstance(base, ast.Name) and base.id in origin:
                yield origin[base.id]


def test_what_is_listed_is_there(hot: dict[str, Path]) -> None:
    assert [each for each, source in hot.items() if not source.is_file()] == []
    assert list(hot) == sorted(hot, key=lambda each: ("/" in each, each))


def test_no_interpreted_class_derives_from_a_compiled_one(hot: dict[str, Path]) -> None:
    assert ("executor/play", "Play") in set(_bases(hot["executor/watched"]))
    derived = [
        (str(source.relative_to(PACKAGE)), module, name)
        for source in PACKAGE.rglob("*.py")
        if source not in hot.values()
        for module, name in _bases(source)
        if module in hot
    ]
    assert derived == []
