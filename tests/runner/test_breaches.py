"""What is watched beside the cases becomes results of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scapy_tfo import spec, tcp_rules
from scapy_tfo.oracle.conduct.conduct import Conduct
from scapy_tfo.report.text import summary
from scapy_tfo.runner.judging.causes import explained
from scapy_tfo.runner.judging.verdicts import case_ids, with_breaches
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.suite.registry import all_cases, all_conversations, select
from scapy_tfo.suite.result import Breach, Level, Result, Run, Verdict

RULES = tcp_rules.load()


def breach(owner: str, rule: str = "ack-of-a-gap", packet: int = 7) -> Breach:
    return Breach(
        rule=rule,
        owner=f"{owner} [ipv4]",
        family=4,
        flow="192.0.2.1:4000>192.0.2.2:80",
        packet=packet,
        expected="acknowledging 1: what follows was not sent",
        actual="7",
    )


def result(case: str, verdict: Verdict = Verdict.PASS) -> Result:
    return Result(
        case=case,
        title=case,
        family=4,
        requirements=(case.partition(".")[0],),
        level=Level.MUST,
        verdict=verdict,
    )


def judged(results: list[Result], *breaches: Breach) -> Run:
    run = Run(target="t", tool="t", started=0, seconds=0, results=tuple(results), breaches=breaches)
    return with_breaches(replace(run, results=explained(run.results)), RULES)


def test_a_rule_is_told_once_with_its_first_packets() -> None:
    run = judged([result("ACC-1.a"), result("ACC-2.b")], breach("ACC-1.a"), breach("ACC-2.b"))
    (found,) = [each for each in run.results if each.verdict is Verdict.FAIL]
    assert found.case == "TCP-ACK-1.ack-of-a-gap"
    assert found.packets == (7, 7)
    assert found.observed == {"seen in": "ACC-1.a [ipv4], ACC-2.b [ipv4]"}
    assert not found.cause


def test_a_breach_of_a_case_that_failed_is_the_same_fault() -> None:
    run = judged([result("ACC-1.a", Verdict.FAIL)], breach("ACC-1.a"))
    found = run.results[-1]
    assert (found.requirements, found.cause) == (("TCP-ACK-1",), "ACC-1.a")


def test_most_of_the_cases_must_have_failed_for_that() -> None:
    cases = [result("ACC-1.a", Verdict.FAIL), result("ACC-2.b"), result("ACC-3.c")]
    run = judged(cases, *(breach(each.case) for each in cases))
    assert not run.results[-1].cause


def test_it_has_the_level_of_its_rule() -> None:
    run = judged([], breach("ACC-1.a", "window-shrinks"))
    assert run.results[-1].level is Level.SHOULD


def test_what_a_rule_only_allows_reads_as_no_breach() -> None:
    run = judged([], breach("ACC-1.a", "old-ack-taken"))
    (found,) = run.results
    assert found.verdict is Verdict.UNSUPPORTED
    assert found.reason.startswith("RFC 5961 section 5.2 allows this and does not demand it")
    assert not found.expected
    assert not found.actual
    told = summary(run)
    assert "UNSUPPORTED (1): this target does not do it, or cannot be asked: no fault" in told
    assert "exit 0" in told


def test_the_report_cites_the_rule() -> None:
    told = summary(judged([], breach("ACC-1.a")))
    assert "An end never acknowledges what was not sent" in told
    assert "not in the catalogue" not in told


def test_a_list_of_known_failures_can_name_it() -> None:
    known = {name for each in RULES.values() for name in case_ids(each)}
    assert "TCP-ACK-1.ack-of-a-gap" in known


def test_a_rule_that_breaks_takes_no_case_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def came(*_: object) -> None:
        raise IndexError("nobody thought of this packet")

    monkeypatch.setattr(Conduct, "came", came)
    run = simulate("sim:reference", select(all_cases(), ["OPT-12"]), spec.load())
    assert {each.verdict for each in run.results} == {Verdict.PASS}
    assert "a fault of scapy-tfo" in "".join(run.notes)


def test_a_right_stack_marks_no_probe_of_a_closed_window() -> None:
    chosen = select(all_conversations(), ["TCP-ECN-7"])
    options = Options(slow=True, families=(4,), capture=False)
    run = simulate("sim:speaks-ecn", chosen, spec.load(), options)
    assert run.watched["probe-marked"]
    assert not run.breaches
