"""Targets with little room are not blamed for connections that they cannot take at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import TargetError
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.memory.target import ReferenceLab
from scapy_tfo.mutants.registry import named
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.segment import ACK, RST, SYN, Segment
from scapy_tfo.suite.application import App, Echo, Http
from scapy_tfo.suite.outcome import Absent
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case, all_cases
from scapy_tfo.suite.result import Result, Run, Verdict
from scapy_tfo.suite.target import Service
from scapy_tfo.targets.own import reference_target
from scapy_tfo.variants.registry import named as named_variant

Spoil = Callable[[ReferenceLab], None]


def judged(
    *conversations: Any,
    queue: int = 256,
    spoil: Spoil | None = None,
    app: App | None = None,
    stack: type[Stack] = Stack,
    name: str = "test",
) -> Run:
    """Judge the reference from outside, without its hooks. name: of the target."""
    cases = [
        Case(
            id=f"ACC-2.{each.__name__}",
            title="a probe",
            requirements=("ACC-2",),
            needs=frozenset(),
            slow=False,
            intrusive=False,
            exclusive=False,
            run=each,
        )
        for each in conversations
    ]

    async def whole() -> Run:
        lab = await ReferenceLab.start(stack_class=stack)
        target = reference_target(name, lab)
        port = await lab.host.listen(ListenerOptions("echo", queue=queue))
        target.main, target.hooks = Service(port, app or Echo()), None
        if spoil is not None:
            spoil(lab)
        return await judge(target, cases, spec.load(), Options(families=(4,)))

    return run_virtually(whole())


def reset_of(syn: Segment) -> bytes:
    """What a target answers that has no room for a connection."""
    return Segment(
        src=syn.dst, dst=syn.src, sport=syn.dport, dport=syn.sport, ack=syn.end, flags=RST | ACK
    ).to_bytes()


async def one_pending(peer: Peer) -> None:
    await peer.open()


async def one_plain(peer: Peer) -> None:
    await peer.connect()


async def four_half_open(peer: Peer) -> None:
    for _ in range(4):
        flow = peer.flow()
        flow.syn()
        await flow.syn_ack()


async def four_pending(peer: Peer) -> None:
    cookie = await peer.cookie()
    for _ in range(4):
        await peer.open(cookie=cookie)


async def made_up_cookie(peer: Peer) -> None:
    """Expects what no server does, as if a valid cookie were refused each time."""
    await peer.open()
    await peer.open(cookie=bytes(8))


def only(run: Run) -> Result:
    (result,) = run.results
    return result


def test_a_queue_shorter_than_a_case_needs_is_not_blamed() -> None:
    result = only(judged(four_pending, queue=2))
    assert (result.verdict, result.attempts) == (Verdict.INCONCLUSIVE, 3)
    assert "queue" in result.reason


def test_a_case_that_fits_the_queue_when_alone_passes() -> None:
    run = judged(*[one_pending] * 12, queue=2)
    assert {result.verdict for result in run.results} == {Verdict.PASS}


def test_fast_open_that_never_comes_back_was_not_a_full_queue() -> None:
    result = only(judged(four_pending, queue=2, stack=named("stays-off-once-full").stack))
    assert result.verdict is Verdict.FAIL
    assert "still off 240 s after all that was pending had ended" in result.reason


def test_a_refusal_beside_room_in_the_queue_fails() -> None:
    assert only(judged(made_up_cookie)).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("first_reset", "verdict"), [(3, Verdict.INCONCLUSIVE), (10**9, Verdict.PASS)]
)
def test_a_target_that_resets_for_want_of_room_is_not_blamed(
    first_reset: int, verdict: Verdict
) -> None:
    def spoil(lab: ReferenceLab) -> None:
        deliver, count = lab.host.receive, 0

        def short(packet: bytes) -> None:
            nonlocal count
            segment = Segment.from_bytes(packet)
            count += segment.flags == SYN
            # Room for the first SYNs; then for every fifth, as connections end elsewhere.
            if segment.flags != SYN or count < first_reset or count % 5 == 0:
                deliver(packet)
                return
            lab.link.answer(reset_of(segment))

        lab.link.attach(short)

    assert only(judged(four_pending, spoil=spoil)).verdict is verdict


def test_a_link_is_listened_to_before_it_is_prepared() -> None:
    said: list[str] = []

    def spoil(lab: ReferenceLab) -> None:
        start, prepare = lab.link.start, lab.link.prepare

        def told_start(receive: Any) -> None:
            said.append("start")
            start(receive)

        async def told_prepare() -> None:
            said.append("prepare")
            await prepare()

        lab.link.start, lab.link.prepare = told_start, told_prepare

    judged(one_pending, spoil=spoil)
    assert said == ["start", "prepare"]


def test_another_application_than_the_one_named_is_no_fault_of_the_stack() -> None:
    with pytest.raises(TargetError, match="does not answer a plain connection as --app http"):
        judged(one_pending, app=Http("target"))


def test_a_plain_port_where_nothing_listens_is_named() -> None:
    def closed(lab: ReferenceLab) -> None:
        lab.host.stack.listeners.pop(lab.ports["plain"])

    with pytest.raises(TargetError, match=r"--plain-port\) does not answer .* the target reset"):
        judged(one_pending, spoil=closed)


def test_a_port_of_a_target_file_is_named_as_the_file_names_it() -> None:
    def closed(lab: ReferenceLab) -> None:
        lab.host.stack.listeners.pop(lab.ports["plain"])

    with pytest.raises(TargetError, match=r"\(--plain-port, or 'plain' in own.toml\) does not"):
        judged(one_pending, name="own.toml", spoil=closed)


def test_a_reset_is_no_loss_of_the_path() -> None:
    """A pool of sockets that was full for a while: what the target never does is still told."""

    async def asks_for_another_form(peer: Peer) -> None:
        flow = peer.flow()
        flow.syn()
        await flow.syn_ack()
        raise Absent("the experimental form is not understood")

    def spoil(lab: ReferenceLab) -> None:
        deliver, count = lab.host.receive, 0

        def short(packet: bytes) -> None:
            nonlocal count
            segment = Segment.from_bytes(packet)
            count += segment.flags == SYN
            if segment.flags != SYN or count == 1 or count % 3 == 0:
                deliver(packet)
                return
            lab.link.answer(reset_of(segment))

        lab.link.attach(short)

    run = judged(asks_for_another_form, *[one_pending] * 3, spoil=spoil)
    assert run.results[0].verdict in (Verdict.UNSUPPORTED, Verdict.INCONCLUSIVE)
    assert not [each.reason for each in run.results if "the path loses packets" in each.reason]
    note = next(note for note in run.notes if "were reset" in note)
    reset, sent = (int(each) for each in re.findall(r"\d+", note))
    assert reset <= sent


def test_a_host_of_one_connection_is_told_from_outside() -> None:
    run = judged(four_pending, *[one_plain] * 12, stack=named_variant("one-connection").stack)
    first, *others = run.results
    assert first.verdict is Verdict.INCONCLUSIVE
    assert "the target holds 1 at a time of the" in first.reason
    assert {each.verdict for each in others} == {Verdict.PASS}
    assert len([each for each in run.notes if "at a time" in each]) == 1
    assert any("holds 1 connection(s) at a time" in each for each in run.notes)


def test_a_host_of_one_connection_is_told_in_a_quick_run_too() -> None:
    options = Options(families=(4,), capture=False)
    run = simulate("sim:one-connection", all_cases(), spec.load(), options)
    counts = Counter(each.verdict for each in run.results)
    assert counts[Verdict.FAIL] == 0
    assert counts[Verdict.PASS] > 2 * counts[Verdict.INCONCLUSIVE]
    assert all(
        "the target holds 1 at a time" in each.reason
        for each in run.results
        if each.verdict is Verdict.INCONCLUSIVE
    )


class DeafWhilePending(Listener):
    """Wrong: while a fast open is pending, every SYN is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        pending = (
            each
            for each in self.stack.connections.values()
            if isinstance(each, PassiveConnection)
            and each.fast_opened
            and each.state is State.SYN_RCVD
        )
        if next(pending, None) is None:
            super().syn_arrives(segment, now)


def test_a_short_backlog_is_told_from_a_fault() -> None:
    def with_two_half_open(lab: ReferenceLab) -> None:
        for listener in lab.host.stack.listeners.values():
            listener.backlog = 2

    run = judged(four_half_open, spoil=with_two_half_open)
    assert only(run).verdict is Verdict.INCONCLUSIVE
    assert "the target holds 2 at a time of the" in only(run).reason


def test_a_listener_that_is_deaf_while_one_pends_is_not_short_of_room() -> None:
    class Deaf(Stack):
        listener_class = DeafWhilePending

    run = judged(four_pending, stack=Deaf)
    assert only(run).verdict is Verdict.FAIL
    assert not any("the target holds" in each for each in run.notes)
