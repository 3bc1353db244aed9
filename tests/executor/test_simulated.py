"""The reference breaks no rule, and stacks that are wrong on purpose do."""

from __future__ import annotations

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.mutants.registry import named
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Step, Wait
from tests.oracle.conversations import GOOD, MSS, REQUEST

PROGRAMS = 1500
FEW = 400
"""Programs within which the mutants below are found."""


@pytest.fixture(scope="module")
def reference() -> SimulatedBench:
    return SimulatedBench("sim:reference")


MUTANTS = [
    ("honours-cookies-when-off", "takes-text", "ACC-1"),
    ("acks-one-byte-too-many", "number-of-syn-ack", "ACC-10"),
    ("crossing-zero-is-refused", "refuses-text", "ACC-11"),
    ("cuts-data-at-zero", "refuses-text", "ACC-11"),
    ("data-is-not-acknowledged", "refuses-text", "ACC-2"),
    ("plain-data-is-accepted", "early-text", "ACC-4"),
    ("cookie-alone-is-dropped", "no-syn-ack", "ACC-5"),
    ("repeats-the-cookie", "repeated-option", "ACC-8"),
    ("never-closes-after-its-peer", "no-fin", "AFT-2"),
    ("never-sends-the-syn-ack-again", "no-repeat", "AFT-3"),
    ("fin-of-a-bad-ack-is-taken", "ack-beyond", "AFT-4"),
    ("early-data-echoes-nothing", "echo-of-time", "AFT-6"),
    ("closed-window-stops-its-acks", "no-ack", "AFT-7"),
    ("any-number-loses-a-byte", "text-wrong", "AFT-8"),
    ("rst-ends-the-listener", "syn-reset", "AFT-9"),
    ("sack-leaves-the-syn-data-out", "block-of-nothing", "AFT-11"),
    ("syn-reopens", "another-syn-ack", "DUP-2"),
    ("second-isn-replaces-the-first", "another-syn-ack", "DUP-6"),
    ("drops-requests-over-the-limit", "no-syn-ack", "LIM-4"),
    ("grants-two-bytes", "grant", "OPT-1"),
    ("grants-seven-bytes", "grant", "OPT-2"),
    ("option-on-data-is-answered", "fast-open-elsewhere", "OPT-4"),
    ("answers-in-the-experimental-form", "grant", "OPT-6"),
    ("length-past-the-end-is-the-rest", "takes-text", "OPT-7"),
    ("scale-comes-unasked", "syn-ack-options", "OPT-9"),
    ("answers-in-both-forms", "grant", "OPT-12"),
    ("takes-any-experiment", "grant", "OPT-13"),
    ("cookie-leaves-the-client-out", "grant", "SRV-1"),
    ("accepts-any-cookie-of-the-right-size", "takes-text", "SRV-2"),
    ("cookie-on-every-segment", "fast-open-elsewhere", "SRV-8"),
    ("request-is-dropped", "no-syn-ack", "SRV-9"),
]


def first_violation(name: str) -> Violation | None:
    bench = SimulatedBench(f"sim:{name}")
    for _, verdict in bench.run((seed, program_for(seed)) for seed in range(FEW)):
        if verdict.violations:
            return verdict.violations[0]
    return None


def test_the_reference_breaks_no_rule(reference: SimulatedBench) -> None:
    programs = ((seed, program_for(seed)) for seed in range(PROGRAMS))
    verdicts = dict(reference.run(programs))
    assert [seed for seed, verdict in verdicts.items() if verdict.violations] == []
    # Some wait for a cookie in a form in which this target grants none.
    assert sum(bool(verdict.unjudged) for verdict in verdicts.values()) < PROGRAMS // 50
    assert len(set().union(*(verdict.reached for verdict in verdicts.values()))) > 15
    assert min(verdict.sent for verdict in verdicts.values()) >= 1


def test_a_stack_that_answers_a_syn_later_grants_cookies_all_the_same() -> None:
    """sim:syn-ack-waits answers the SYN after a tenth of a second."""
    bench = SimulatedBench("sim:syn-ack-waits")
    programs = ((seed, program_for(seed)) for seed in range(60))
    verdicts = [verdict for _, verdict in bench.run(programs)]
    assert sum(bool(each.unjudged) for each in verdicts) <= 2
    assert not any(each.violations for each in verdicts)


@pytest.mark.parametrize(("name", "rule", "clause"), MUTANTS)
def test_a_mutant_is_found_with_its_requirement(name: str, rule: str, clause: str) -> None:
    found = first_violation(name)
    assert found is not None
    assert (found.rule, found.requirement) == (rule, clause)
    assert named(name).breaks == clause


def test_gets_to_know_the_reference(reference: SimulatedBench) -> None:
    profile = reference.profile
    assert (profile.fast_open, profile.holds_data, profile.fresh) == (True, False, True)
    assert 34 in profile.forms
    assert profile.options is not None
    assert profile.options.mss == {4: {1460}, 6: {1440}}


def test_a_program_means_the_same_whatever_ran_before(reference: SimulatedBench) -> None:
    programs = [(seed, program_for(seed)) for seed in range(60)]
    forth = dict(reference.run(programs))
    back = dict(reference.run(reversed(programs)))
    assert forth == back


def test_a_trace_holds_the_packets_of_both_sides(reference: SimulatedBench) -> None:
    program = Program((Flow(),), (Send(0, "S", size=20, options=GOOD), Wait()))
    verdict, packets = reference.trace(program)
    assert verdict.violations == ()
    assert {each.outbound for each in packets} == {True, False}
    assert (verdict.sent, verdict.heard) == (
        sum(each.outbound for each in packets),
        sum(not each.outbound for each in packets),
    )
    assert [each.when for each in packets] == sorted(each.when for each in packets)


def test_cookies_of_earlier_flows_are_at_hand(reference: SimulatedBench) -> None:
    came = Option("fo", cookie=Cookie("flow:0"))
    steps = (
        Send(0, "S", options=(MSS, REQUEST)),
        Wait(),
        Send(1, "S", size=20, options=(MSS, came)),
        Wait(),
    )
    verdict, _ = reference.trace(Program((Flow(), Flow()), steps))
    assert (verdict.violations, verdict.unjudged) == ((), "")
    never = Program((Flow(), Flow()), steps[2:])
    assert reference.trace(never)[0].unjudged


def test_is_alive_and_leaves_nothing(reference: SimulatedBench) -> None:
    assert (reference.alive(), reference.counters()) == ("", {})
    reference.close()
    reference.close()


LEGAL = {
    "a RST that is challenged acknowledges nothing": (
        Send(0, "S", options=GOOD),
        Wait(),
        Send(0, "F.", 1, "all", 10),
        Wait(),
        Send(0, "R.", 21, "all", wrong=True),
        Wait(),
        Wait(4.0),
    ),
    "a RST below the text that the SYN-ACK takes": (
        Send(0, "S", size=20, options=GOOD),
        Send(0, "R", 1),
        Wait(1.5),
    ),
    "a cookie that is older than two minutes": (
        Send(0, "S", size=20, options=GOOD),
        Wait(),
        Wait(200.0),
        Send(1, "S", size=20, options=GOOD),
        Wait(),
    ),
}
"""What a right stack may answer as it likes."""


@pytest.mark.parametrize(
    "name", ["reference", "answers-slowly", "cookies-for-five-minutes", "variants-row-22"]
)
@pytest.mark.parametrize("steps", LEGAL.values(), ids=LEGAL)
def test_a_right_stack_is_not_blamed(name: str, steps: tuple[Step, ...]) -> None:
    bench = SimulatedBench(f"sim:{name}")
    verdict, _ = bench.trace(Program((Flow(), Flow()), steps, "reset"))
    assert verdict.violations == ()


def test_a_stack_that_is_not_there_is_told() -> None:
    with pytest.raises(SetupError, match="no such stack"):
        SimulatedBench("sim:nonesuch")
