"""A run of a program without sockets and clocks: packets and time in, packets and a verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.packet import Ends, build, flags_of
from scapy_tfo.program.payload import text
from scapy_tfo.program.program import Cookie, Expect, Flow, Icmp, Option, Program, Send, Step, Wait
from scapy_tfo.segment import RST, Segment
from tests.oracle.conversations import GOOD, full_jar

CLIENT, TARGET = ip_address("192.0.2.10").packed, ip_address("192.0.2.1").packed
PATIENCE = Patience(answer=0.4, text=0.8, linger=0.1)
ISN, ISS = 100, 5000
SYN = Send(0, "S", size=20, options=GOOD)


class Run:
    """A play whose target is the test."""

    def __init__(
        self,
        *steps: Step,
        end: str = "leave",
        flows: Sequence[Flow] = (Flow(isn=ISN),),
        keep: bool = False,
        begin: float = 1000.0,
        clock: int | None = None,
    ) -> None:
        ends = [Ends(CLIENT, TARGET, 40000 + at, 80) for at in range(len(flows))]
        self.ends = ends
        self.play = Play(
            Program(tuple(flows), steps, end, clock=clock),
            ends,
            full_jar(),
            Profile(fresh=True),
            PATIENCE,
            keep=keep,
        )
        self.now = begin
        self.play.begin(begin)

    def sent(self) -> list[Segment]:
        return [Segment.from_bytes(each) for each in self.play.take_packets()]

    def came(
        self,
        flags: str,
        seq: int,
        ack: int,
        payload: bytes = b"",
        flow: int = 0,
        options: bytes = b"",
    ) -> None:
        _, _, sport, dport = self.ends[flow]
        isn = self.play.links[flow].isn
        back = Ends(TARGET, CLIENT, dport, sport)
        packet = build(
            back,
            ISS + seq,
            (isn + ack) % (1 << 32),
            flags_of(flags),
            options=options,
            payload=payload,
        )
        self.play.arrive(flow, packet, self.now)

    def wait(self) -> float:
        """Let the deadline come; how long that took."""
        assert self.play.deadline is not None
        before, self.now = self.now, self.play.deadline
        self.play.on_timer(self.now)
        return round(self.now - before, 6)

    @property
    def broken(self) -> list[tuple[str, str]]:
        return [(each.rule, each.reply) for each in self.play.verdict().violations]


def test_sends_and_is_done() -> None:
    run = Run(SYN, Send(0, "R", 21))
    first, second = run.sent()
    assert (first.seq, first.sport, first.dport, len(first.payload)) == (ISN, 40000, 80, 20)
    assert first.payload == text(0, 1, 20)
    assert second.seq == ISN + 21
    assert run.play.done
    assert run.play.deadline is None
    assert run.sent() == []


def test_a_reply_that_is_owed_is_waited_for_no_longer_than_is_patient() -> None:
    run = Run(SYN, Wait())
    assert run.wait() == PATIENCE.answer
    assert run.play.done
    assert run.broken == [("no-syn-ack", "none")]


def test_a_reply_in_time_ends_the_wait() -> None:
    run = Run(SYN, Wait())
    run.sent()
    run.now += 0.3
    run.came("S.", 0, 21)
    assert run.wait() == PATIENCE.linger
    assert run.play.done
    assert run.broken == []
    assert run.play.verdict().heard == 1


def times(value: int, echo: int) -> bytes:
    return opt.padded(opt.push_options([opt.timestamps(value, echo)]))


def test_silence_is_no_sign_that_a_slow_target_has_read_what_is_not_answered() -> None:
    """It answers the second SYN before it comes to the ACK, a second after both were sent."""
    with_times = (Option("mss", value=1460), Option("ts"))
    run = Run(
        Send(0, "S", options=with_times),
        Wait(),
        Send(0, "S", options=with_times),
        Send(0, ".", 1, "all"),
        Wait(),
        Wait(1.0),
    )
    (syn,) = run.sent()
    assert syn.timestamps is not None
    run.came("S.", 0, 1, options=times(7, syn.timestamps[0]))
    run.now += 0.05
    run.wait()
    (_, ack) = run.sent()
    assert ack.timestamps is not None
    assert ack.timestamps[0] > syn.timestamps[0]
    while not run.play.done:
        run.wait()
        run.came(".", 1, 1, options=times(8, syn.timestamps[0]))
    assert run.broken == []


def test_an_application_has_more_time() -> None:
    run = Run(SYN, Wait(), Send(0, ".", 21, "all"), Wait())
    run.came("S.", 0, 21)
    run.wait()
    assert run.wait() == PATIENCE.answer
    run.now += 0.3
    run.came("P.", 1, 21, text(0, 1, 20))
    run.wait()
    assert run.broken == []
    assert run.play.done


def test_nothing_is_sent_behind_a_violation() -> None:
    run = Run(SYN, Wait(), Send(0, "P.", 21, "all", 10), Wait())
    run.sent()
    run.came("S.", 0, 1)
    assert run.play.done
    assert run.sent() == []
    assert run.broken == [("refuses-text", "syn-ack")]


def test_what_comes_is_expected_by_its_class() -> None:
    run = Run(SYN, Expect(0, "syn-ack"), Expect(0, "text"), Send(0, ".", 21, "all"))
    run.sent()
    run.came("S.", 0, 21)
    assert run.wait() == 0.0
    run.came("P.", 1, 21, text(0, 1, 20))
    assert run.wait() == 0.0
    (ack,) = run.sent()
    assert (ack.seq, ack.ack) == (ISN + 21, ISS + 21)


def test_what_never_comes_is_expected_for_a_while_only() -> None:
    run = Run(SYN, Expect(0, "text"), Send(0, "R", 21))
    run.sent()
    assert run.wait() == PATIENCE.answer
    assert len(run.sent()) == 1


def test_waits_in_seconds_are_kept() -> None:
    run = Run(SYN, Wait(4.0), end="leave")
    run.came("S.", 0, 21)
    assert run.wait() == 4.0
    assert run.broken == [("no-repeat", "none")]


def test_what_came_is_acknowledged_by_all() -> None:
    run = Run(SYN, Wait(), Send(0, ".", 21, "all"), Send(0, ".", 21, 7))
    assert len(run.sent()) == 1
    run.came("S.", 0, 21)
    run.came("P.", 1, 21, text(0, 1, 20))
    run.wait()
    assert [each.ack for each in run.sent()] == [ISS + 21, ISS + 7]


def test_an_acknowledgement_of_nothing_is_not_sent() -> None:
    assert len(Run(SYN, Send(0, ".", 21, "all")).sent()) == 1


def test_a_cookie_that_was_never_granted_leaves_no_verdict() -> None:
    run = Run(Send(0, "S", options=(Option("fo", cookie=Cookie("flow:0")),)), Wait())
    assert run.sent() == []
    assert run.play.done
    assert run.play.verdict().unjudged == "the target granted no cookie"


def test_every_flow_is_shown_to_work_in_the_end() -> None:
    run = Run(SYN, Wait(), end="finish")
    run.sent()
    run.came("S.", 0, 21)
    run.came("P.", 1, 21, text(0, 1, 20))
    run.wait()
    for _ in range(3):
        if not (sent := run.sent()):
            run.wait()
            sent = run.sent()
        assert sent
        if sent[-1].payload:
            break
        run.wait()
    probe = sent[-1]
    assert (probe.seq, probe.payload) == (ISN + 21, text(0, 21, 16))
    run.came("P.", 21, 37, text(0, 21, 16))
    closing = []
    while not run.play.done:
        run.wait()
        sent = run.sent()
        closing += sent
        if any(each.is_fin for each in sent):
            run.came("F.", 37, 38)
    assert run.broken == []
    assert (closing[-1].seq, closing[-1].ack) == (ISN + 38, ISS + 38)


def test_nothing_is_left_behind_by_a_reset() -> None:
    run = Run(SYN, Wait(), end="reset")
    run.sent()
    run.came("S.", 0, 21)
    run.wait()
    ack, rst, *bare = run.sent()
    assert (ack.seq, ack.ack, ack.is_rst) == (ISN + 21, ISS + 1, False)
    assert (rst.seq, rst.is_rst) == (ISN + 21, True)
    # Half open, FreeBSD ignores a RST with ACK, and knows no number but that behind the ISN.
    assert [(each.seq, each.flags) for each in bare] == [(ISN + 21, RST), (ISN + 1, RST)]


def test_the_trace_tells_who_sent_what_and_when() -> None:
    run = Run(SYN, Wait(), keep=True)
    run.sent()
    run.now += 0.25
    run.came("S.", 0, 1)
    (found,) = run.play.verdict().violations
    assert [(each.when, each.outbound) for each in run.play.trace] == [(0.0, True), (0.25, False)]
    assert found.packet == 1
    assert Segment.from_bytes(run.play.trace[1].data).is_syn_ack


def test_errors_quote_what_the_target_sent() -> None:
    run = Run(SYN, Wait(), Icmp(0, "unreachable", 3), Icmp(0, "too-big", mtu=1000, seq=9))
    run.sent()
    run.came("S.", 0, 21)
    run.wait()
    errors = run.play.take_packets()
    assert [each[20:22] for each in errors] == [b"\x03\x03", b"\x03\x04"]
    assert [int.from_bytes(each[52:56], "big") for each in errors] == [ISS, ISS + 9]


def test_an_error_may_end_a_fast_open_whose_answer_is_still_on_the_way() -> None:
    for quoted in (21, 22):
        # Whether the number is looked at is left open (RFC 5927 section 4.1).
        run = Run(SYN, Wait(), Icmp(0, "unreachable", 2, seq=quoted), Send(0, ".", 21, 1), Wait())
        run.came("S.", 0, 21)
        run.wait()
        run.came("R", 1, 0)
        assert run.broken == [], quoted


def test_parting_opens_the_window() -> None:
    run = Run(Send(0, "S", size=20, window=0, options=GOOD), Wait(), end="reset")
    run.came("S.", 0, 21)
    run.wait()
    assert run.play.done
    run.came("P.", 1, 21, text(0, 1, 20))
    assert run.broken == []


def test_clocks_go_on_with_time() -> None:
    timed = (Option("ts"),)
    run = Run(Send(0, "S", options=timed), Wait(2.0), Send(0, "S", options=timed), clock=0xFFFFFFFF)
    (first,) = run.sent()
    run.came("S.", 0, 1)
    run.wait()
    (second,) = run.sent()
    assert first.timestamps == (0xFFFFFFFF, 0)
    assert second.timestamps == (1999, 0)


def test_flows_are_judged_by_themselves() -> None:
    run = Run(SYN, Send(1, "S"), Wait(), flows=(Flow(isn=ISN), Flow(isn=7)), end="leave", keep=True)
    assert [each.sport for each in run.sent()] == [40000, 40001]
    run.came("S.", 0, 1, flow=1)
    run.came("S.", 0, 21, flow=0)
    run.wait()
    verdict = run.play.verdict()
    assert (verdict.violations, verdict.sent, verdict.heard) == ((), 2, 2)
    assert len(verdict.reached) == 1
