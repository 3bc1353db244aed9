"""What the package exports: it is there and documented, type checkers know it, and it is lazy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scapy_tfo

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(set(scapy_tfo.__all__) - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there_with_its_docstring(name: str) -> None:
    found = getattr(scapy_tfo, name)
    assert found.__doc__


def test_type_checkers_are_told_the_same() -> None:
    stub = ast.parse((Path(scapy_tfo.__file__).with_suffix(".pyi")).read_text())
    told = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    places = {name: place.split(":") for name, place in scapy_tfo._PUBLIC.items()}
    assert told == {
        name: f"scapy_tfo.{place[0]}.{place[1] if place[1:] else name}"
        for name, place in places.items()
    }


def test_the_documentation_names_each() -> None:
    page = (ROOT / "docs" / "library.md").read_text("utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []


def test_the_api_page_has_each_once() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    (members,) = re.findall(r"^   :members: (.+)$", page, re.MULTILINE)
    constants = re.findall(r"^\.\. py:data:: scapy_tfo\.(\w+)$", page, re.MULTILINE)
    assert sorted([*members.split(", "), *constants]) == NAMES
    # Of a value without a docstring of its own, the page would say nothing.
    assert constants == [name for name in NAMES if not callable(getattr(scapy_tfo, name))]


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, scapy_tfo; print([n for n in sys.modules if n.startswith('scapy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['scapy_tfo']"


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = scapy_tfo.nothing
    assert "Peer" in dir(scapy_tfo)


def test_the_version_has_its_place_in_the_changelog() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {scapy_tfo.__version__}" in changes
