"""A server that did no harm is opened fast after whatever others did."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.suite.registry import select
from scapy_tfo.suite.result import Result

REFUSAL = "CLI-6.refused-data-is-sent-again"
BYSTANDER = "CLI-24.a-bystander-is-still-opened-fast"


def judged(client: str, *only: str) -> list[Result]:
    cases = select(all_cases(), list(only), [])
    return list(simulate(f"sim:{client}", cases, spec.load(), Options(families=(4,))).results)


def bystanders(client: str, *only: str) -> list[Result]:
    return [each for each in judged(client, *only) if each.case == BYSTANDER]


def test_a_client_that_backs_off_from_all_hosts_is_told_within_any_case_of_a_refusal() -> None:
    (found,) = bystanders("one-failure-ends-fast-open", REFUSAL)
    assert found.requirements == ("CLI-24",)
    assert REFUSAL in found.reason


def test_it_is_told_once_however_many_cases_show_it() -> None:
    assert len(bystanders("one-failure-ends-fast-open", "CLI-6", "CLI-6a")) == 1


def test_nothing_came_to_harm_where_all_was_accepted() -> None:
    assert not bystanders("one-failure-ends-fast-open", "CLI-23.a-long-answer-to-a-fast-open")


@pytest.mark.parametrize("client", ["reference", "request-of-length-zero"])
def test_a_right_client_and_one_that_is_granted_nothing_have_no_such_result(client: str) -> None:
    assert not bystanders(client, REFUSAL)


def test_a_cache_of_one_server_may_have_to_ask_again() -> None:
    assert not bystanders("remembers-one-server", "CLI-24.a-refusal-of-one-host-is-no-other-one-s")
