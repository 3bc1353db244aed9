"""Programs are reduced to what a fault needs."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Step, Wait
from scapy_tfo.program.reduce import reduced, reduced_together, reduction, size
from tests.fuzz.fakes import Fault, make, sends

COOKIE = Option("fo", kind=34, cookie=Cookie("own", (("flip", 3), ("pad", 2))))


class Trial:
    """Counts the programs that are run for it."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.runs = 0

    def __call__(self, programs: Sequence[Program]) -> list[bool]:
        self.runs += len(programs)
        return [self.fault.shows(each) for each in programs]


def long_program(*needed: Step) -> Program:
    """The needed steps, in their order, among others up to 20."""
    dice = random.Random(3)
    steps: list[Step] = [
        Send(dice.randrange(4), dice.choice((".", "P.")), seq=at, size=dice.randrange(900))
        for at in range(18 - len(needed))
    ]
    steps[11:11] = needed
    return Program(
        (Flow(6, 1), Flow(isn=0xFFFFFFFF), Flow(port="plain"), Flow(sport_of=1)),
        (*steps[:18], Wait(), Wait(0.5)),
        "finish",
        "a test",
    )


def test_twenty_steps_become_the_two_that_matter() -> None:
    def shows(program: Program) -> bool:
        syns = [each for each in sends(program) if "S" in each.flags and each.size >= 10]
        return any(each.flags == "R" for each in sends(program)) and bool(syns)

    syn = Send(1, "S", size=500, options=(Option("mss", 1460), COOKIE), window=900)
    trial = Trial(Fault(shows))
    program = long_program(syn, Send(2, "R", seq=12, ack="all"))
    assert len(program.steps) == 20
    smallest = reduced(program, trial)
    assert [each.flags for each in sends(smallest)] == ["S", "R"]
    assert smallest.steps[0] == Send(size=10)
    assert smallest.end == "reset"
    assert trial.runs <= 250


def test_only_the_option_that_matters_is_left() -> None:
    def shows(program: Program) -> bool:
        return any(
            option.cookie is not None and ("flip", 3) in option.cookie.edits
            for each in sends(program)
            for option in each.options or ()
        )

    options = (Option("mss", 1460), Option("nop"), COOKIE, Option("ws", 7), Option("sackok"))
    smallest = reduced(long_program(Send(0, "SEW", size=9, options=options)), Trial(Fault(shows)))
    assert smallest == Program(
        (Flow(),),
        (Send(size=1, options=(Option("fo", cookie=Cookie("own", (("flip", 3),))),)),),
        "reset",
    )


def test_flows_keep_their_cookies_and_ports() -> None:
    def shows(program: Program) -> bool:
        cookies = [
            (step.flow, option.cookie.of)
            for step in sends(program)
            for option in step.options or ()
            if option.cookie is not None
        ]
        wanted = [(flow, of) for flow, of in cookies if of.startswith("flow:")]
        return any(
            program.flows[int(of[5:])].port == "second" and program.flows[flow].sport_of is not None
            for flow, of in wanted
        )

    program = Program(
        (Flow(), Flow(), Flow(port="second", isn=5), Flow(client=1, sport_of=0)),
        (Send(0), Send(1), Send(3, options=(Option("fo", cookie=Cookie("flow:2")),))),
    )
    smallest = reduced(program, Trial(Fault(shows)))
    assert shows(smallest)
    assert len(smallest.steps) == 1
    assert len(smallest.flows) == 3


def test_the_number_of_runs_is_bounded() -> None:
    trial = Trial(Fault(lambda program: len(sends(program)) >= 9))
    reduced(long_program(), trial, 40)
    assert trial.runs <= 40


def test_what_shows_nothing_smaller_stays() -> None:
    program = long_program()
    assert reduced(program, lambda some: [False] * len(some)).steps == program.steps


@given(st.integers(0, 2**32), st.integers(0, 2**20))
def test_the_result_shows_it_and_is_never_larger(seed: int, salt: int) -> None:
    program = make(seed, "rfc")

    def shows(candidate: Program) -> bool:
        return candidate.steps == program.steps or hash((len(candidate.steps), salt)) % 3 == 0

    smallest = reduced(program, lambda some: [shows(each) for each in some])
    assert shows(smallest)
    assert size(smallest) <= size(program)


def test_streams_stay_whole_when_their_text_gets_less() -> None:
    def shows(program: Program) -> bool:
        return {each.flags for each in sends(program)} == {"S", "P.", "F."}

    again = Send(0, "S", size=30)
    steps = (again, again, Send(0, "P.", 31, "all", 10), Send(0, "F.", 41, "all"))
    smallest = reduced(Program((Flow(),), steps), Trial(Fault(shows)))
    assert smallest.steps == (Send(), Send(0, "P.", 1, "all"), Send(0, "F.", 1, "all"))


def test_when_time_is_up_the_smallest_so_far_has_to_do() -> None:
    program = long_program(Send(0, "S", size=20), Send(0, "R", 21))
    rounds = []

    def trial(some: Sequence[tuple[int, Program]]) -> list[bool]:
        rounds.append(len(some))
        return [False for _ in some]

    assert reduced_together([reduction(program)], trial, until=0.0)[0].steps == program.steps
    assert len(rounds) == 1
