"""The tests of on_a_cluster.py, run in a process of their own.

Dask leaves threads behind, and other tests fork: a process that has threads must not.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = Path(__file__).with_name("on_a_cluster.py")
NAMES = [
    node.name
    for node in ast.parse(TESTS.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
]

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Of each test what went wrong with it; of one that was not run there is nothing."""
    report = tmp_path_factory.mktemp("cluster") / "junit.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
    done = subprocess.run(
        [*command, f"--junitxml={report}"],
        cwd=TESTS.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), done.stdout + done.stderr
    return {
        case.attrib["name"]: [each.text or each.attrib.get("message", each.tag) for each in case]
        for case in ElementTree.parse(report).iter("testcase")
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_campaign_on_a_cluster(told: dict[str, list[str]], name: str) -> None:
    assert told[name] == []
