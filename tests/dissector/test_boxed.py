"""Comparing names what each middlebox does, from captures of both ends alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from boxed import named

from scapy_tfo.middleboxes.registry import BOXES

RUNS = int(os.environ.get("PATH_RUNS", "1"))
"""Of each box over each family; more are for whoever has the time."""


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("name", BOXES)
def test_a_box_is_named(name: str, family: int, tmp_path: Path) -> None:
    for seed in range(RUNS):
        found = named(name, family, seed, tmp_path)
        assert found == ([] if name == "none" else [name]), seed
