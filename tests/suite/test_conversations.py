"""Conversations with legal stacks that ask more of their peer, and with some that are not legal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scapy_tfo import option as opt
from scapy_tfo import seq, spec
from scapy_tfo.lab.memory.target import ReferenceLab
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.segment import ACK, PSH, RST, SYN, Segment
from scapy_tfo.suite.delivery.timer import MOST_REPEATS
from scapy_tfo.suite.outcome import Missing
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case, all_cases, select
from scapy_tfo.suite.result import Run, Verdict
from scapy_tfo.targets.own import reference_target
from tests.suite.legal_stacks import (
    LEGAL,
    DropsTextOnTheAck,
    NeverOpensItsWindow,
    OpensItsWindowLater,
)

Spoil = Callable[[ReferenceLab], None]


def judged(
    stack: type[Stack],
    cases: Sequence[Case],
    *,
    settings: Settings | None = None,
    families: Sequence[int] = (4,),
    spoil: Spoil = lambda _: None,
) -> Run:
    async def whole() -> Run:
        lab = await ReferenceLab.start(stack_class=stack, settings=settings)
        spoil(lab)
        options = Options(families=families, intrusive=True)
        return await judge(reference_target("test", lab), cases, spec.load(), options)

    return run_virtually(whole())


def led(
    stack: type[Stack],
    conversation: Any,
    *,
    settings: Settings | None = None,
    spoil: Spoil = lambda _: None,
) -> list[Segment]:
    """Lead one conversation, and demand that it passes; what was sent on the port of its last flow,
    from the SYN on."""
    sent: list[Segment] = []
    ports: list[int] = []

    async def watched(peer: Peer) -> None:
        await conversation(peer)
        ports.append(peer.flows[-1].sport)

    def listen(lab: ReferenceLab) -> None:
        spoil(lab)
        send = lab.link.send

        def heard(packet: bytes) -> None:
            sent.append(Segment.from_bytes(packet))
            send(packet)

        lab.link.send = heard

    (result,) = judged(stack, [a_case(watched)], settings=settings, spoil=listen).results
    assert result.verdict is Verdict.PASS, result.reason
    return [each for each in sent if each.sport == ports[-1]]


def a_case(conversation: Any) -> Case:
    return Case(
        id=f"ACC-2.{conversation.__name__}",
        title="a probe",
        requirements=("ACC-2",),
        needs=frozenset(),
        slow=False,
        intrusive=False,
        exclusive=False,
        run=conversation,
    )


def texts(sent: list[Segment]) -> list[tuple[int, bytes]]:
    """The text in that, without the SYN's, and where it stands in the stream."""
    start = seq.add(sent[0].seq, 1)
    found = [each for each in sent if each.payload and not each.flags & SYN]
    return [(seq.distance(start, each.seq), each.payload) for each in found]


def blamed(run: Run) -> dict[str, str]:
    wrong = (Verdict.FAIL, Verdict.INCONCLUSIVE)
    return {each.case: each.reason for each in run.results if each.verdict in wrong}


@pytest.mark.parametrize("name", LEGAL)
def test_nothing_legal_is_blamed(name: str) -> None:
    stack, settings = LEGAL[name]
    wrong = blamed(judged(stack, all_cases(), settings=settings))
    # Its segments are smaller from the start than the error would make them.
    wrong.pop("AFT-8.packet-too-big-makes-segments-smaller", None) if settings.mtu < 600 else None
    assert not wrong


def over(mtu: int) -> Spoil:
    """The link refuses what is larger than that, as a real one does."""

    def spoil(lab: ReferenceLab) -> None:
        lab.link.mtu, send = mtu, lab.link.send

        def narrow(packet: bytes) -> None:
            if len(packet) > mtu:
                raise ValueError(f"a packet of {len(packet)} bytes, over the MTU of {mtu}")
            send(packet)

        lab.link.send = narrow

    return spoil


@pytest.mark.parametrize(("family", "mtu"), [(4, 576), (6, 1280)])
def test_sizes_follow_the_mtu_of_the_link(family: int, mtu: int) -> None:
    cases = select(all_cases(), exclude=["AFT-8.packet-too-big-makes-segments-smaller"])
    small = Settings(mtu=mtu)
    assert not blamed(judged(Stack, cases, settings=small, families=(family,), spoil=over(mtu)))


async def whole(peer: Peer) -> None:
    flow = await peer.connect()
    flow.request(3000)
    await flow.finish()


def test_a_closed_window_is_waited_for_and_nothing_is_sent_into_it() -> None:
    async def at_once(peer: Peer) -> None:
        flow = peer.flow()
        flow.syn()
        await flow.syn_ack()
        flow.request()
        await flow.finish()

    behind = led(OpensItsWindowLater, at_once)[1:]
    assert [bool(each.payload) for each in behind[:2]] == [False, True]
    assert behind[0].flags == ACK
    assert behind[0].seq == behind[1].seq


@pytest.mark.parametrize("window", [20, 600])
def test_text_is_cut_to_a_small_window(window: int) -> None:
    small = Settings(receive_window=window, window_scaling=False)
    pieces = texts(led(Stack, whole, settings=small))
    assert max(len(data) for _, data in pieces) <= window
    ends = [at + len(data) for at, data in pieces]
    assert [0, *ends] == [*(at for at, _ in pieces), 3000]


def test_text_is_cut_to_the_targets_segment_size() -> None:
    pieces = texts(led(Stack, whole, settings=Settings(mtu=400)))
    assert [at for at, _ in pieces] == list(range(0, 3000, 360))


def losing(count: int) -> Spoil:
    """The path loses the first segments with text behind a SYN, so many."""

    def spoil(lab: ReferenceLab) -> None:
        send, lost = lab.link.send, 0

        def lossy(packet: bytes) -> None:
            nonlocal lost
            segment = Segment.from_bytes(packet)
            if segment.payload and not segment.flags & SYN and lost < count:
                lost += 1
                return
            send(packet)

        lab.link.send = lossy

    return spoil


@pytest.mark.parametrize("count", range(1, MOST_REPEATS + 1))
def test_what_is_lost_is_sent_again_as_it_was(count: int) -> None:
    option = opt.fast_open(b"\x5a" * 8)

    async def with_an_option(peer: Peer) -> None:
        flow = await peer.connect()
        first, second = flow.app.request(), flow.app.request()
        flow.sent += [first, second]
        flow.send(ACK | PSH, first, options=[option])
        flow.send(ACK | PSH, second)
        await flow.finish()
        assert flow.repeated >= count

    sent = [each for each in led(Stack, with_an_option, spoil=losing(count)) if each.payload]
    copies = [each for each in sent if each.seq == sent[0].seq]
    assert len(copies) >= 2
    assert {(each.payload, each.options, each.flags) for each in copies} == {
        (sent[0].payload, sent[0].options, ACK | PSH)
    }


def test_a_lost_fin_is_sent_again() -> None:
    def spoil(lab: ReferenceLab) -> None:
        send, fins = lab.link.send, 0

        def lossy(packet: bytes) -> None:
            nonlocal fins
            is_fin = Segment.from_bytes(packet).is_fin
            fins += is_fin
            if not is_fin or fins > 1:
                send(packet)

        lab.link.send = lossy

    assert sum(each.is_fin for each in led(Stack, whole, spoil=spoil)) == 2


def test_what_is_lost_for_good_is_sent_a_few_times_and_then_missing() -> None:
    async def in_vain(peer: Peer) -> None:
        flow = await peer.connect()
        flow.request()
        with pytest.raises(Missing):
            await flow.answered()
        assert flow.repeated == MOST_REPEATS

    assert len(texts(led(Stack, in_vain, spoil=losing(100)))) == 1 + MOST_REPEATS


def test_a_case_about_one_copy_sends_no_second() -> None:
    async def once(peer: Peer) -> None:
        flow = await peer.connect()
        flow.resends = False
        flow.request()
        with pytest.raises(Missing):
            await flow.answered()

    assert len(texts(led(Stack, once, spoil=losing(100)))) == 1


def test_what_is_to_be_rejected_is_not_sent_again() -> None:
    async def wrong_text(peer: Peer) -> None:
        flow = await peer.connect()
        start = flow.snd_nxt
        flow.send(ACK | PSH, b"wrong", ack=seq.add(flow.rcv_nxt, 1 << 29), once=True)
        flow.snd_nxt = start
        flow.request()
        await flow.finish()

    assert [data for _, data in texts(led(Stack, wrong_text))].count(b"wrong") == 1


def test_a_repetition_acknowledges_no_more_than_the_case_has() -> None:
    async def withholds(peer: Peer) -> None:
        flow = await peer.open()
        first = seq.add(flow.irs or 0, 1)
        flow.ack(ack=first)
        flow.send(ACK | PSH, b"more", ack=first)
        flow.sent.append(b"more")
        await flow.until("its acknowledgement", lambda: flow.their_rcv_nxt == flow.snd_nxt)
        peer.require(flow.repeated == 1, "not sent again", expected="1", actual="0")

    sent = led(Stack, withholds, spoil=losing(1))
    assert len({each.ack for each in sent if each.payload == b"more"}) == 1


def test_a_window_that_never_opens_is_probed_and_blamed() -> None:
    (result,) = judged(NeverOpensItsWindow, [a_case(whole)]).results
    assert result.verdict is Verdict.FAIL
    assert "3000 bytes of ours wait for its window to open" in result.actual


def test_probes_are_few_and_of_one_byte() -> None:
    async def probes(peer: Peer) -> None:
        flow = await peer.connect()
        flow.request()
        with pytest.raises(Missing):
            await flow.answered()

    assert [(at, len(data)) for at, data in texts(led(NeverOpensItsWindow, probes))] == [
        (0, 1)
    ] * MOST_REPEATS


def test_text_that_is_always_dropped_with_the_ack_is_not_excused() -> None:
    """A second copy would be taken: the cases that are about the first still fail."""
    cases = select(all_cases(), only=["AFT-1.data-with-the-ack*", "AFT-2.*-with-the-ack*"])
    wrong = blamed(judged(DropsTextOnTheAck, cases))
    assert len(wrong) == len(cases)


def test_nothing_is_sent_to_who_has_reset() -> None:
    async def is_reset(peer: Peer) -> None:
        flow = await peer.connect()
        flow.reset()
        flow.request()
        with pytest.raises(Missing):
            await flow.answered()

    sent = led(Stack, is_reset)
    assert len(texts(sent)) == 1
    assert any(each.flags & RST for each in sent)
