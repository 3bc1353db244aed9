"""Verdicts follow from the endings of cases, on lossy paths and with targets that go away."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import struct
from collections.abc import Callable
from typing import Any

import pytest

from scapy_tfo import spec
from scapy_tfo.cookie import OneTimeCookies
from scapy_tfo.errors import TargetError
from scapy_tfo.lab.memory.target import MemoryLink, ReferenceLab
from scapy_tfo.reference.stack import Stack
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.judging.verdicts import TRIES
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.suite.outcome import Inconclusive, Refused, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result, Run, Verdict, exit_status
from scapy_tfo.suite.target import Target
from scapy_tfo.targets.own import reference_target

Spoil = Callable[[ReferenceLab], None]
Conversation = Callable[[Peer], Any]


def case(run: Conversation, requirement: str = "ACC-2", **fields: Any) -> Case:
    values: dict[str, Any] = {
        "id": f"{requirement}.probe",
        "title": "a probe",
        "requirements": (requirement,),
        "needs": frozenset(),
        "slow": False,
        "intrusive": False,
        "exclusive": False,
        "run": run,
    }
    return Case(**(values | fields))


def judged(
    *cases: Case, spoil: Spoil | None = None, change: Callable[[Target], None] | None = None
) -> Run:
    async def whole() -> Run:
        lab = await ReferenceLab.start()
        target = reference_target("test", lab)
        if change is not None:
            change(target)
        if spoil is not None:
            spoil(lab)
        return await judge(target, cases, spec.load(), Options(families=(4,)))

    return run_virtually(whole())


def only(run: Run) -> Result:
    (result,) = run.results
    return result


def lose(loses: Callable[[int], bool]) -> Spoil:
    """Lose the packets to the target whose number, counted from 0, `loses` picks."""

    def spoil(lab: ReferenceLab) -> None:
        count = itertools.count()
        deliver = lab.host.receive
        lab.link.attach(lambda packet: None if loses(next(count)) else deliver(packet))

    return spoil


async def deaf_port(peer: Peer) -> None:
    """Expects what never comes: data on a connection whose application says nothing."""
    flow = await peer.connect(await peer.listen("mute"))
    flow.send(data=b"hello")
    await flow.until("an echo", lambda: bool(flow.stream.data))


async def plain_handshake(peer: Peer) -> None:
    await peer.connect()


def test_a_case_that_returns_passes_and_its_record_is_kept() -> None:
    async def notes(peer: Peer) -> None:
        peer.record("colour", "green")

    result = only(judged(case(notes)))
    assert (result.verdict, result.observed) == (Verdict.PASS, {"colour": "green"})


def test_silence_on_a_clean_path_fails_after_three_attempts() -> None:
    result = only(judged(case(deaf_port)))
    assert (result.verdict, result.attempts) == (Verdict.FAIL, 3)
    assert result.expected == "an echo"
    assert result.packets


def some(share: float) -> Callable[[int], bool]:
    """Picks that share of all packets, by dice."""
    dice = random.Random(7)
    return lambda _number: dice.random() < share


def test_silence_on_a_path_that_loses_is_inconclusive() -> None:
    result = only(judged(case(deaf_port), spoil=lose(some(0.3))))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "loses" in result.reason


def test_one_handshake_lost_among_hundreds_explains_no_silence_every_time() -> None:
    # The first SYN of the control handshake is lost, and nothing else.
    result = only(judged(case(deaf_port), spoil=lose(lambda number: number == 0)))
    assert result.verdict is Verdict.FAIL
    assert f"silent {result.attempts} of {result.attempts} times, while" in result.reason
    assert "loss explains this with a probability below 1e-" in result.reason


def test_where_more_is_lost_a_silence_takes_more_attempts() -> None:
    def attempts(share: float) -> int:
        result = only(judged(case(deaf_port), spoil=lose(some(share))))
        assert result.verdict is Verdict.FAIL
        return result.attempts

    assert 3 <= attempts(0.0) < attempts(0.02) <= TRIES


def test_a_case_that_recovers_passes_and_counts_as_loss_beside_the_others() -> None:
    # 0 and 1 are the control handshake, 2 is the first SYN of the case that begins first: the last.
    quick = case(plain_handshake, id="ACC-2.quick")
    run = judged(case(deaf_port), quick, spoil=lose(lambda number: number == 2))
    deaf, recovered = run.results
    assert (recovered.verdict, recovered.attempts) == (Verdict.PASS, 2)
    assert deaf.verdict is Verdict.FAIL
    told = re.search(r"while (\d+) of (\d+) control handshakes and other cases", deaf.reason)
    assert told
    assert int(told[1]) == int(told[2]) - 1
    assert any("repeated" in note for note in run.notes)


def test_a_target_that_never_answers_cannot_be_judged() -> None:
    with pytest.raises(TargetError, match="no answer to a plain SYN"):
        judged(case(plain_handshake), spoil=lose(lambda _number: True))


def test_a_closed_port_cannot_be_judged() -> None:
    def close(target: Target) -> None:
        target.main = type(target.main)(9, target.main.app)

    with pytest.raises(TargetError, match="the port is closed"):
        judged(case(plain_handshake), change=close)


def test_a_target_that_goes_away_among_many_cases_is_not_blamed() -> None:
    two = case(plain_handshake), case(plain_handshake, id="ACC-2.other")
    run = judged(*two, spoil=lose(lambda number: number >= 2))
    assert {each.verdict for each in run.results} == {Verdict.INCONCLUSIVE}
    assert any("--only" in note for note in run.notes)
    assert exit_status(run) == 3


def test_a_target_that_goes_away_after_the_only_case_is_blamed() -> None:
    run = judged(case(plain_handshake), spoil=lose(lambda number: number >= 2))
    assert only(run).verdict is Verdict.FAIL
    assert "stopped answering" in only(run).reason


def test_what_came_and_is_wrong_fails_at_once() -> None:
    async def wrong(peer: Peer) -> None:
        flow = await peer.connect()
        flow.require(False, "wrong", "this", "that")

    result = only(judged(case(wrong)))
    assert (result.verdict, result.attempts, result.reason) == (Verdict.FAIL, 1, "wrong")
    assert (result.expected, result.actual) == ("this", "that")
    assert result.flow.startswith("192.0.2.10:")


async def refused(peer: Peer) -> None:
    await peer.connect()
    raise Refused("a valid cookie was refused")


def test_a_refusal_every_time_fails_on_a_clean_path() -> None:
    result = only(judged(case(refused)))
    assert (result.verdict, result.attempts) == (Verdict.FAIL, 3)


def test_a_refusal_where_packets_are_lost_may_come_of_a_lost_ack() -> None:
    result = only(judged(case(refused), spoil=lose(some(0.3))))
    assert result.verdict is Verdict.INCONCLUSIVE


def test_a_refusal_that_passes_says_nothing_of_the_path() -> None:
    tries: list[int] = []

    async def refused_once(peer: Peer) -> None:
        tries.append(1)
        if len(tries) == 1:
            await refused(peer)

    run = judged(case(refused_once), case(deaf_port))
    assert [each.verdict for each in run.results] == [Verdict.PASS, Verdict.FAIL]


@pytest.mark.parametrize("requirement", ["SRV-5", "LIM-5"])
def test_what_is_only_recorded_never_fails(requirement: str) -> None:
    async def undone(peer: Peer) -> None:
        (await peer.connect()).require(False, "not seen", "it", "nothing")

    result = only(judged(case(undone, requirement)))
    assert result.verdict is Verdict.UNSUPPORTED
    assert "which is allowed" in result.reason


@pytest.mark.parametrize(
    ("ending", "verdict"),
    [
        (Unsupported("no"), Verdict.UNSUPPORTED),
        (Inconclusive("cannot tell"), Verdict.INCONCLUSIVE),
        (ValueError("a bug of ours"), Verdict.INCONCLUSIVE),
    ],
)
def test_other_endings_are_told_as_they_are(ending: Exception, verdict: Verdict) -> None:
    async def ends(_peer: Peer) -> None:
        raise ending

    assert only(judged(case(ends))).verdict is verdict


@pytest.mark.parametrize("error", [ValueError("too long"), AssertionError(), struct.error("H")])
def test_a_case_that_breaks_says_that_the_fault_is_ours(error: Exception) -> None:
    async def breaks(_peer: Peer) -> None:
        raise error

    breaks.__module__ = "scapy_tfo.cases.of_ours"
    result = only(judged(case(breaks)))
    assert result.broke
    assert (result.verdict, result.attempts) == (Verdict.INCONCLUSIVE, 1)
    assert result.reason.startswith("a fault of scapy-tfo, not of the target: ")
    assert repr(error) in result.reason
    assert "test_runner.py:" in result.reason
    assert "please report this line" in result.reason


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"slow": True}, "--slow"),
        ({"intrusive": True}, "--intrusive"),
        ({"needs": frozenset({"plain_port"})}, "--plain-port"),
    ],
)
def test_a_need_that_is_not_met_skips_and_says_how_to_meet_it(
    fields: dict[str, Any], how: str
) -> None:
    def without(target: Target) -> None:
        target.plain = None

    result = only(judged(case(plain_handshake, **fields), change=without))
    assert result.verdict is Verdict.SKIPPED
    assert how in result.reason


def test_cases_run_at_the_same_time_and_exclusive_ones_alone() -> None:
    running: set[str] = set()
    seen: dict[str, set[str]] = {}

    def probe(name: str, **fields: Any) -> Case:
        async def run(peer: Peer) -> None:
            running.add(name)
            await asyncio.sleep(1)
            seen[name] = set(running)
            await peer.wait(0.5)
            running.discard(name)

        return case(run, id=f"ACC-2.{name}", **fields)

    judged(probe("a"), probe("b"), probe("alone", exclusive=True))
    assert seen["a"] >= {"a", "b"}
    assert seen["alone"] == {"alone"}


def test_judged_packets_say_so_in_the_capture() -> None:
    async def wrong(peer: Peer) -> None:
        (await peer.connect()).require(False, "wrong", "this", "that")

    run = judged(case(wrong))
    cited = [run.packets[number - 1] for number in only(run).packets]
    assert cited
    assert all("FAIL: wrong" in packet.comment for packet in cited)
    assert all("ACC-2.probe" in packet.comment for packet in cited)


class _OneTime(Stack):
    """A server of paper 7.1."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **(options | {"cookies": OneTimeCookies([bytes(16)])}))


def test_cookies_that_are_good_once_are_no_failure_of_a_case_that_uses_one_twice() -> None:
    async def whole() -> Run:
        lab = await ReferenceLab.start(stack_class=_OneTime)
        target = reference_target("test", lab)
        return await judge(target, [case(twice)], spec.load(), Options(families=(4,)))

    async def twice(peer: Peer) -> None:
        cookie = await peer.cookie()
        for _ in range(2):
            await peer.open(cookie=cookie)

    assert only(judged(case(twice))).verdict is Verdict.PASS
    result = only(run_virtually(whole()))
    assert result.verdict is Verdict.UNSUPPORTED
    assert "good once" in result.reason


def test_waiting_for_our_own_turn_to_send_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    def lag(_link: object = None) -> float:
        return 2.0 if asyncio.get_running_loop().time() > 0.1 else 0.0

    def pace(lab: ReferenceLab) -> None:
        send = lab.link.send
        call_later = asyncio.get_running_loop().call_later
        monkeypatch.setattr(lab.link, "send", lambda packet: call_later(lag(), send, packet))

    async def waits(peer: Peer) -> None:
        await peer.wait(5)

    monkeypatch.setattr(MemoryLink, "lag", property(lag))
    assert not judged(case(waits), spoil=pace).loses


def test_what_came_in_the_turn_that_ran_out_of_time_has_come() -> None:
    async def held_up(peer: Peer) -> None:
        flow = await peer.connect()
        late = flow.heard[0]
        loop = asyncio.get_running_loop()
        loop.call_at(loop.time() + 0.5, lambda: flow.hear(late, 1))
        await flow.until("more", lambda: len(flow.heard) > 1, within=0.5)

    assert only(judged(case(held_up))).verdict is Verdict.PASS
