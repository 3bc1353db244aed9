"""The entry for `pytest tests/conformance --tfo-target TARGET`: one test for each case."""

from __future__ import annotations

from scapy_tfo.conformance.test_target import test_case, test_rules_of_tcp

__all__ = ["test_case", "test_rules_of_tcp"]
