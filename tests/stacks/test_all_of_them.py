"""scripts/stacks.py: the stacks that it knows, and what it makes of their runs.

What it builds and judges takes minutes: `make stacks`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from scapy_tfo.cli import main

ROOT = Path(__file__).parents[2]
OURS = runpy.run_path(str(ROOT / "scripts" / "stacks.py"))
KNOWN = {each.name: each for each in OURS["load"]()}


def test_each_stack_is_a_target_file_or_a_target_of_our_own() -> None:
    assert len(KNOWN) >= 9
    for each in KNOWN.values():
        assert bool(each.file) != each.target.startswith("lab:"), each.name
        assert not each.file or (ROOT / "docs" / "stacks" / each.file).is_file()
        assert bool(each.build) == bool(each.built)
        assert set(each.only) <= set(OURS["VERBS"])


def test_each_recipe_has_its_stack() -> None:
    files = {each.file for each in KNOWN.values()}
    stacks = ROOT / "docs" / "stacks"
    targets = [each for each in stacks.glob("*/*.toml") if "[start]" in each.read_text("utf-8")]
    assert {str(each.relative_to(stacks)) for each in targets} <= files


def stack(name: str, **changes: object) -> object:
    return OURS["Stack"](name, target="sim:reference", **changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"needs": ("no-such-program",), "build": (("true",),)}, "not here: no no-such-program"),
        ({"build": ((sys.executable, "-c", "print('a|b'); exit(1)"),)}, "not built: a/b"),
        ({"build": (("true",),)}, ""),
    ],
)
def test_what_cannot_be_built_says_why(
    changes: dict[str, object], told: str, tmp_path: Path
) -> None:
    row = OURS["Row"](stack("s", built="never", **changes))
    assert OURS["ready"](row, tmp_path) is not bool(told)
    assert row.problems == [told] * bool(told)


def test_what_does_not_end_is_ended_and_its_output_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = [sys.executable, "-uc", "import time; print('begun'); time.sleep(600)"]
    assert OURS["ran"](slow, log, within=2.0) is None
    assert OURS["ran"]([sys.executable, "-c", "exit(3)"], log, within=60.0) == 3


def test_the_page_has_a_row_for_each_stack_and_a_column_for_each_run(tmp_path: Path) -> None:
    for name, mutant in (("right", "reference"), ("wrong", "length3-is-a-request")):
        place = tmp_path / name
        place.mkdir()
        run = ["test", f"sim:{mutant}", "--only", "OPT-3", "--quiet", "--label", name]
        main([*run, "--out", str(place / "test"), "--json", str(place / "test.json")])
    rows = [OURS["kept"](stack(name), tmp_path) for name in ("right", "wrong", "absent")]
    rows[2].problems.append("not here: no cargo")
    page = OURS["page"](rows, OURS["matrix"](rows, tmp_path), "5s")
    (bad,) = [line for line in page.splitlines() if line.startswith("| wrong |")][:1]
    assert int(bad.split(" | ")[3]) > 0
    assert "| absent |" in page
    assert "not here: no cargo |" in page
    assert "| requirement | level | right | wrong |" in page
    assert 'href="./wrong/test/report.html' in (tmp_path / "stacks.html").read_text("utf-8")
    assert "report.html" not in (tmp_path / "unlinked.html").read_text("utf-8")
