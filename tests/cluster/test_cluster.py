"""The tests of of_campaigns.py and of_explorations.py, each run in a process of their own.

Dask leaves threads behind, and other tests fork: a process that has threads must not.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = [Path(__file__).with_name(f"of_{name}.py") for name in ("campaigns", "explorations")]
NAMES = sorted(
    {
        node.name
        for path in TESTS
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
)

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Of each test what went wrong with it; of one that was not run there is nothing."""
    report = tmp_path_factory.mktemp("cluster") / "junit.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(
        [*command, f"--junitxml={report}"],
        cwd=TESTS[0].parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), done.stdout + done.stderr
    told: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [each.text or each.attrib.get("message", each.tag) for each in case]
        # One with parameters, or one that both files have, counts as a whole.
        told.setdefault(case.attrib["name"].partition("[")[0], []).extend(wrong)
    return told


@pytest.mark.parametrize("name", NAMES)
def test_on_a_cluster(told: dict[str, list[str]], name: str) -> None:
    assert told[name] == []
