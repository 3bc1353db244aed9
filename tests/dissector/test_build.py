"""The plugin is built from its parts."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "build_plugin.py"))


def test_the_committed_plugin_is_what_its_parts_make(script: dict[str, Any]) -> None:
    is_current = (ROOT / "dissector" / "tfo.lua").read_bytes() == script["built"]()
    assert is_current, "dissector/tfo.lua is not what dissector/src makes: run `make plugin`"


def test_every_part_is_joined_once(script: dict[str, Any]) -> None:
    there = [path.name for path in (ROOT / "dissector" / "src").glob("*.lua")]
    assert sorted(script["PARTS"]) == sorted(there)
