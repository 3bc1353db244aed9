"""What a campaign says of its findings, and of itself, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.executor import pair
from scapy_tfo.executor.bench import Bench
from scapy_tfo.executor.differences import DIFFERS
from scapy_tfo.executor.pair import FEW, PairBench
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.findings.finding import ALIVE, ROBUST, Finding, Status
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.program.program import Flow, Program, Send
from scapy_tfo.report.fuzz_report import by_weight, last_word, line_of, told_rates
from tests.fuzz.command_line import complaint
from tests.fuzz.fakes import FakeBench, plan

PROGRAM = Program((Flow(),), (Send(),), "reset")


def finding(
    requirement: str, rule: str, expected: str, actual: str, target: str = "lab:linux", at: int = 0
) -> Finding:
    return Finding(
        signature=(requirement, "LISTEN", "syn-ack", ""),
        rule=rule,
        status=Status.CONFIRMED,
        number=at,
        seed=at,
        program=PROGRAM,
        reduced=PROGRAM,
        expected=expected,
        actual=actual,
        packets=(),
        packet=-1,
        target=target,
        version="0",
        first_seen=0.0,
    )


def test_of_two_targets_a_line_says_what_each_did() -> None:
    found = finding(
        DIFFERS, "differs-good", "nothing", "a SYN-ACK acknowledging 5", "lab:linux against sim:a"
    )
    assert line_of(found).endswith(
        "where sim:a shows nothing, lab:linux shows a SYN-ACK acknowledging 5"
    )


def test_that_the_target_died_is_told_first_and_in_these_words() -> None:
    wrong = finding("ACC-2", "no-syn-ack", "a SYN-ACK", "nothing", at=1)
    again = finding("SRV-1", "no-syn-ack", "a SYN-ACK", "nothing", at=9)
    other = finding("ACC-9", "reset", "none", "RST", at=2)
    dead = finding(ROBUST, ALIVE, "a handshake", "its process has ended", at=10)
    assert by_weight([wrong, other, again, dead]) == [dead, wrong, again, other]
    assert "the target died: its process has ended" in line_of(dead)
    assert "expected a SYN-ACK; got nothing" in line_of(wrong)


def test_several_addresses_may_follow_one_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "192.0.2.1:7", "--source", "192.0.2.9", "192.0.2.x"]) == 2
    assert "--source: '192.0.2.x'" in complaint(capsys)


class Counting(FakeBench):
    """given: how many programs at a time."""

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        some = list(programs)
        self.given = [*getattr(self, "given", []), len(some)]
        yield from super().run(some)


@pytest.mark.parametrize(("quick", "grows"), [(float("inf"), True), (-1.0, False)])
def test_slow_targets_are_given_few_programs_at_a_time(
    monkeypatch: pytest.MonkeyPatch, quick: float, grows: bool
) -> None:
    monkeypatch.setattr(pair, "QUICK", quick)
    first: Bench = Counting()
    both = PairBench(first, Counting(), SimulatedBench("sim:reference").profile)
    assert len(list(both.run((number, PROGRAM) for number in range(5 * FEW)))) == 5 * FEW
    assert (max(first.given) > FEW) is grows


def test_rates_are_those_of_the_clock_and_of_our_cpu() -> None:
    figures = {
        "sequences": 3000,
        "probes": 9000,
        "heard": 6000,
        "clock_seconds": 30.0,
        "cpu_seconds": 15.0,
    }
    assert told_rates(figures) == (
        "A second of the clock (30.0 s in all): 100 programs, 300 segments, 200 replies;"
        " a second of CPU (15.0 s): 200 programs, 600 segments, 400 replies"
    )
    assert told_rates({**figures, "cpu_seconds": 0.0}) == ""


def test_what_is_spent_adds_up(tmp_path: Path) -> None:
    with closing(Store.create(tmp_path / "a.sqlite", plan())) as store:
        assert store.spent == (0.0, 0.0)
        store.spend(2.0, 1.0)
        store.spend(3.0, 0.5)
        assert store.spent == (5.0, 1.5)


@pytest.mark.parametrize(
    ("findings", "flaky", "untried", "word"),
    [
        ([], [], 0, "nothing found"),
        ([], [], 2, "nothing confirmed"),
        ([(False, "a")], [1], 0, "nothing new: 2 findings known or flaky"),
        ([(True, "a"), (True, "a"), (False, "b")], [], 0, "2 new findings of 1 cause"),
    ],
)
def test_the_last_word_is_what_it_came_to(
    findings: list[tuple[bool, str]], flaky: list[int], untried: int, word: str
) -> None:
    told = [{"new": new, "cause": cause} for new, cause in findings]
    figures = {"target": "t", "findings": told, "flaky": flaky, "untried": untried}
    assert last_word(figures) == f"t: {word}"
