"""Every library that runs in one process with Scapy has a line in docs/licences.md."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = canonicalize_name(PROJECT["name"])


def named_in_table() -> set[str]:
    rows = (ROOT / "docs/licences.md").read_text().splitlines()
    return {match[1] for row in rows if (match := re.match(r"\| ([a-z0-9-]+) \|", row))}


def wanted_here(requirements: list[str]) -> set[str]:
    """Names of the requirements whose markers hold on this machine, without extras."""
    found = [Requirement(line) for line in requirements]
    return {
        canonicalize_name(requirement.name)
        for requirement in found
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }


def with_what_they_bring(names: set[str]) -> set[str]:
    todo, seen = set(names), set()
    while todo:
        name = todo.pop()
        seen.add(name)
        try:
            todo |= wanted_here(requires(name) or []) - seen
        except PackageNotFoundError:
            continue
    return seen


def test_what_runs_beside_scapy_is_listed() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["boofuzz"], *extras["cluster"], *extras["gain"]]
    runtime = with_what_they_bring(wanted_here(wanted))
    assert runtime - named_in_table() == set()


def test_tools_are_listed() -> None:
    extras = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    assert wanted_here(extras) - named_in_table() - {OURS} == set()


def test_no_module_brings_scapy_into_its_process() -> None:
    """covertable and others may not be combined with it: only who imports the bridge has it."""
    found = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "scapy_tfo").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and re.search(r"\b(scapy(?!_tfo)|scapy_bridge)\b", ast.unparse(node))
    ]
    assert set(found) == {"scapy_tfo/scapy_bridge.py"}
