"""Runs with --vary: what only a context shows is found, and reduced to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo.runner import session
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.result import Run, Verdict
from scapy_tfo.vary.reduce import reduce
from scapy_tfo.vary.run import Vary, run

COOKIE = "ACC-2.answer-comes-before-our-ack"


def judged(target: str, *only: str, context: str = "") -> Run:
    """As they are, or in one context."""
    options = Options(families=(4,), context=Context.parse(context))
    return session.run(Request(target=target, only=only, options=options))


def varied(target: str, *only: str, strength: int = 1) -> Run:
    return run(Request(target=target, only=only), Vary(strength=strength))


def failed(done: Run) -> dict[str, str]:
    return {each.case: each.reason for each in done.results if each.verdict is Verdict.FAIL}


def test_the_reference_passes_in_every_context() -> None:
    done = varied("sim:reference", "ACC-2", "SRV-1")
    assert not failed(done)
    assert not done.gone
    assert "contexts" in done.notes[0]


def test_a_fault_is_told_with_the_context_that_it_takes() -> None:
    target = "sim:equal-ports-are-no-clients"
    case = "ACC-2.plain-client-and-fast-one-with-one-port"
    assert not failed(judged(target, case))
    done = varied(target, case)
    assert "in context port=same" in failed(done)[case]
    assert failed(judged(target, case, context="port=same"))


def test_the_packets_of_a_failure_are_in_the_capture() -> None:
    case = "SRV-1.another-address-cannot-use-it"
    done = varied("sim:cookies-of-the-lowest-byte", case, strength=2)
    result = next(each for each in done.results if each.verdict is Verdict.FAIL)
    assert result.packets
    assert [each.number for each in done.packets] == list(range(1, len(done.packets) + 1))
    shown = {done.packets[each - 1].comment.split(" [")[0] for each in result.packets}
    assert all(result.case in each for each in shown)


def test_a_cookie_refused_in_one_context_only_is_held_against_the_target() -> None:
    done = judged("sim:shift-of-zero-ends-the-options", COOKIE, context="shift=0")
    assert "refused in this context" in failed(done)[COOKIE]


def test_no_cookie_anywhere_is_not() -> None:
    done = judged("sim:syn-cookies-always", COOKIE, context="port=1023")
    assert not failed(done)


@pytest.mark.parametrize(
    ("variant", "factor"),
    [("no-timestamps", "times"), ("no-sack", "sack"), ("no-window-scaling", "shift")],
)
def test_what_the_target_does_not_agree_to_is_not_varied(variant: str, factor: str) -> None:
    done = varied(f"sim:{variant}", COOKIE)
    left = [each for each in done.notes if each.startswith(f"not varied: {factor} ")]
    assert left
    assert "does not agree" in left[0]


def test_a_failure_that_needs_no_context_is_told_as_ever() -> None:
    done = varied("sim:accepts-any-cookie", "SRV-2")
    assert failed(done)
    assert not any("in context" in reason for reason in failed(done).values())


def test_without_contexts_a_result_names_none() -> None:
    done = judged("sim:reference", COOKIE)
    assert not any("context" in each.observed for each in done.results)
    assert not done.notes


def test_the_reduction_keeps_what_matters() -> None:
    context = Context.parse("age=1,times=wrap,shift=0,dscp=46,port=80,size=256")
    small = reduce(context, lambda each: each["shift"] == "0" and each["port"] == "80")
    assert str(small) == "shift=0,port=80"


def test_a_failure_of_no_context_is_reduced_to_none() -> None:
    assert not reduce(Context.parse("age=1,times=wrap"), lambda _: True).values


def test_a_context_and_contexts_do_not_go_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from scapy_tfo.cli import main

    assert main(["test", "sim:reference", "--vary", "--context", "port=80"]) == 2
    assert "not both" in capsys.readouterr().err


def test_pytest_tells_the_context_too() -> None:
    tests = Path(__file__).parents[1] / "conformance"
    target = ["--tfo-target", "sim:shift-of-zero-ends-the-options", "--tfo-only", COOKIE]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tests), *target]
    done = subprocess.run(
        [*command, "--tfo-vary"], capture_output=True, text=True, check=False, cwd=tests.parents[1]
    )
    assert "in context shift=0" in done.stdout


def test_the_plan_sends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    from scapy_tfo.cli import main

    assert main(["test", "192.0.2.77", "--vary", "--plan", "--only", "ACC-2"]) == 0
    assert "runs of" in capsys.readouterr().out
