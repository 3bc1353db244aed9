"""Comparing names what each middlebox does, from captures of both ends alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from boxed import named

from scapy_tfo.middleboxes.registry import BOXES

RUNS = int(os.environ.get("PATH_RUNS", "1"))
"""Of each box over one family in turn; more, then over both, are for whoever has the time."""

OVER = [
    (name, family)
    for number, name in enumerate(BOXES)
    for family in ((4, 6) if RUNS > 1 else ((4, 6)[number % 2],))
]


@pytest.mark.parametrize(("name", "family"), OVER)
def test_a_box_is_named(name: str, family: int, tmp_path: Path) -> None:
    for seed in range(RUNS):
        found = named(name, family, seed, tmp_path)
        assert found == ([] if name == "none" else [name]), seed
