"""The entry for `pytest tests/conformance --tfo-target TARGET`: one test for each case."""

from __future__ import annotations

import pytest

from scapy_tfo.pytest_plugin import check_result
from scapy_tfo.suite.result import Result


def test_case(tfo_result: Result, pytestconfig: pytest.Config) -> None:
    check_result(tfo_result, strict=pytestconfig.getoption("--tfo-strict"))
