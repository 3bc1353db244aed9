"""The number of results to come is told once, before the first of them."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.clients.judge import Options as ClientOptions
from scapy_tfo.clients.registry import all_cases as client_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, run
from scapy_tfo.suite.registry import select
from scapy_tfo.suite.result import Result


class Told:
    """What a progress bar is told."""

    def __init__(self) -> None:
        self.plans: list[int] = []
        self.results = 0

    def plan(self, total: int) -> None:
        assert self.results == 0
        self.plans.append(total)

    def result(self, _result: Result) -> None:
        self.results += 1


@pytest.mark.parametrize("target", ["sim:reference", "lab:reference"])
@pytest.mark.parametrize("families", [None, (6,)])
def test_of_a_target(target: str, families: tuple[int, ...] | None) -> None:
    told = Told()
    options = Options(families=families, on_plan=told.plan, on_result=told.result)
    done = run(Request(target=target, only=["OPT-1", "ACC-2"], options=options))
    assert told.plans == [len(done.results)] == [told.results]


def test_of_a_client() -> None:
    told = Told()
    cases = select(client_cases(), ["CLI-1"])
    options = ClientOptions(on_plan=told.plan, on_result=told.result)
    done = simulate("sim:reference", cases, spec.load(), options)
    assert told.plans == [len(done.results)] == [told.results]
