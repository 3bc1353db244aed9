"""One test for each case: `pytest --pyargs scapy_tfo.conformance --tfo-target TARGET`."""

from __future__ import annotations

import pytest

from scapy_tfo.pytest_plugin import check_result, check_rules, target_of
from scapy_tfo.suite.result import Result, Run


def test_case(tfo_result: Result, pytestconfig: pytest.Config) -> None:
    check_result(tfo_result, strict=pytestconfig.getoption("--tfo-strict"))


def test_rules_of_tcp(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> None:
    """What the target sent in all cases, under the rules of plain TCP."""
    if not target_of(pytestconfig):
        pytest.skip("no target: give --tfo-target")
    run: Run = request.getfixturevalue("tfo_run")
    check_rules(run, strict=pytestconfig.getoption("--tfo-strict"))
