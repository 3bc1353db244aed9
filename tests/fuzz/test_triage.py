"""What a violation must show again before it is a finding."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.campaign.triage import happens
from scapy_tfo.fuzz.findings.finding import Status
from scapy_tfo.program.program import Flow, Program, Send
from tests.fuzz.fakes import FakeBench, Fault, sends
from tests.fuzz.test_campaign import run


def has_reset(program: Program) -> bool:
    return any(each.flags == "R" for each in sends(program))


def test_a_busy_target_may_show_it_by_another_reply(tmp_path: Path) -> None:
    """The rule is broken each time: by an ACK, or by the FIN that came before it."""

    class Busy(FakeBench):
        dice = random.Random(3)

        def judge(self, program: Program) -> Verdict:
            reply = self.dice.choice(("ack", "fin"))
            self.faults = [Fault(has_reset, rule="behind-fin", reply=reply)]
            return super().judge(program)

    findings = run(tmp_path / "a.sqlite", Busy())
    assert {(each.rule, each.status) for each in findings} == {("behind-fin", Status.CONFIRMED)}
    assert {each.reply for each in findings} <= {"ack", "fin"}


def test_another_rule_confirms_nothing(tmp_path: Path) -> None:
    class Fickle(FakeBench):
        dice = random.Random(3)

        def judge(self, program: Program) -> Verdict:
            self.faults = [Fault(has_reset, rule=self.dice.choice(("one", "other")))]
            return super().judge(program)

    findings = run(tmp_path / "a.sqlite", Fickle())
    assert {each.status for each in findings} == {Status.FLAKY}


@pytest.mark.parametrize(
    ("rule", "happens_still"),
    [(("behind-fin", "*"), True), (("behind-fin", "fin"), True), (("other", "*"), False)],
)
def test_a_known_one_happens_by_whatever_reply(rule: tuple[str, str], happens_still: bool) -> None:
    bench = FakeBench([Fault(has_reset, rule="behind-fin", reply="ack")])
    program = Program((Flow(),), (Send(flags="R"),))
    assert happens(bench, program, rule) is happens_still
