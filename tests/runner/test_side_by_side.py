"""Both IP versions at a time, in two processes: the run is the one that one process gives."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import TargetError
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, judge_once, run
from scapy_tfo.runner.side_by_side import side_by_side
from scapy_tfo.spec import Catalogue, Level
from scapy_tfo.suite.registry import Case, all_cases
from scapy_tfo.suite.result import Breach, CapturedPacket, Result, Run, Verdict

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a second processor")

CASES = all_cases()[:60]
CATALOGUE = spec.load()


def timeless(done: Run) -> Run:
    """Without what no two runs have in common."""
    results = tuple(replace(each, seconds=0.0) for each in done.results)
    packets = tuple(replace(each, when=0.0) for each in done.packets)
    return replace(
        done, started=0.0, seconds=0.0, results=results, packets=packets, watched=dict(done.watched)
    )


def test_a_simulated_run_is_the_one_of_one_process() -> None:
    request = Request(target="sim:window-shrinks", only=["OPT", "ACC-9"])
    alone, both = run(request), run(request, side_by_side(judge_once))
    assert len(alone.results) > 100
    assert alone.breaches
    assert timeless(both) == timeless(alone)


def result(family: int, packet: int = 1) -> Result:
    """Of some case."""
    return Result(
        case="ACC-1.some-case",
        title="some case",
        family=family,
        requirements=("ACC-1",),
        level=Level.MUST,
        verdict=Verdict.PASS,
        packets=(packet,),
    )


def judged(*, does: Callable[[int], None] = lambda _: None) -> Callable[..., Run]:
    """What has one result for each family, the packets of IPv6 between those of IPv4. does: is told
    the family behind the result."""

    def judge(request: Request, _: Sequence[Case], _catalogue: Catalogue) -> Run:
        (family,) = request.options.families or ()
        found = result(family, 2)
        if request.options.on_result is not None:
            request.options.on_result(found)
        does(family)
        times = (1.0, 4.0) if family == 4 else (2.0, 3.0)
        packets = tuple(
            CapturedPacket(
                number=number, when=when, outbound=True, data=bytes([family, number]), comment=""
            )
            for number, when in enumerate(times, 1)
        )
        breach = Breach(
            rule="some-rule",
            owner="some case",
            family=family,
            flow="",
            packet=1,
            expected="",
            actual="",
        )
        return Run(
            target=request.target,
            tool="",
            started=0.0,
            seconds=1.0,
            results=(found,),
            packets=packets,
            breaches=(breach,),
            watched={"some-rule": family},
        )

    return judge


def beside(told: list[Result], **named: Callable[[int], None]) -> Run:
    request = Request(target="lab:linux", options=Options(on_result=told.append))
    return side_by_side(judged(**named))(request, CASES, CATALOGUE)


def test_packets_are_mixed_as_they_came_and_cited_by_their_new_numbers() -> None:
    told: list[Result] = []
    done = beside(told)
    assert [(each.number, each.data) for each in done.packets] == [
        (1, b"\x04\x01"),
        (2, b"\x06\x01"),
        (3, b"\x06\x02"),
        (4, b"\x04\x02"),
    ]
    assert [each.packets for each in done.results] == [(4,), (3,)]
    assert [each.packet for each in done.breaches] == [1, 2]
    assert done.watched == {"some-rule": 10}
    assert sorted(each.family for each in told) == [4, 6]
    assert {each.packets for each in told} == {()}


@pytest.mark.parametrize("which", [4, 6])
def test_an_interrupt_keeps_what_both_have_found(which: int) -> None:
    told: list[Result] = []

    def interrupted(family: int) -> None:
        until = time.monotonic() + 20.0
        while family == which == 4 and len(told) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        if family == which:
            raise KeyboardInterrupt

    done = beside(told, does=interrupted)
    assert [each.family for each in done.results] == [4, 6]
    assert done.interrupted
    assert done.notes == ("interrupted: 118 of 120 results are missing",)


def test_an_interrupt_at_once_is_none_of_a_process_that_ends_early() -> None:
    def interrupted(family: int) -> None:
        if family == 4:
            raise KeyboardInterrupt
        time.sleep(20.0)

    for _ in range(5):
        done = beside([], does=interrupted)
        assert {each.family for each in done.results} in ({4}, {4, 6})
        assert done.interrupted


@pytest.mark.parametrize("which", [4, 6])
def test_what_one_of_them_raises_is_raised(which: int) -> None:
    def fails(family: int) -> None:
        if family == which:
            raise TargetError("it does not answer")

    with pytest.raises(TargetError, match="it does not answer"):
        beside([], does=fails)


def test_the_end_of_the_other_process_is_told() -> None:
    def killed(family: int) -> None:
        if family == 6:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match="ended early: -9"):
        beside([], does=killed)


def test_what_telling_raises_is_raised_once_both_have_ended() -> None:
    def unread(told: Result) -> None:
        if told.family == 6:
            raise BrokenPipeError

    request = Request(target="lab:linux", options=Options(on_result=unread))
    with pytest.raises(BrokenPipeError):
        side_by_side(judged())(request, CASES, CATALOGUE)


@pytest.mark.parametrize(
    "request_",
    [
        Request(target="lab:nginx"),
        Request(target="sim:reference", options=Options(families=(4,))),
        Request(target="192.0.2.1"),
    ],
)
def test_other_runs_have_one_process(request_: Request) -> None:
    asked: list[Request] = []

    def judge(request: Request, _: Sequence[Case], _catalogue: Catalogue) -> Run:
        asked.append(request)
        return Run(target="", tool="", started=0.0, seconds=0.0, results=())

    side_by_side(judge)(request_, CASES, CATALOGUE)
    assert asked == [request_]
