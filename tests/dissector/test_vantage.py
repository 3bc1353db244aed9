"""Captures that lack something, or were made far away, slowly, twice or in pieces: no connection is
shown with the outcome of another, and none is charged with what the capture did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from crafted import ANOTHER, COOKIE, DATA, RTT, Packet, Talk, write
from encapsulations import ETHERNET, IPV4, IPV6, MACS
from test_places import write_pcap
from tshark import connections, needs_tshark

pytestmark = needs_tshark

ALL = len(DATA)
_BEGAN = 1_700_000_000.0
SLOW = 1.3
"""Seconds of a round trip that takes longer than a client waits for the answer to its SYN."""


def keep(talk: Talk, *frames: int) -> None:
    """Only these packets were captured, counted from 1."""
    talk.packets = [talk.packets[frame - 1] for frame in frames]


def accepted(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    talk.data(at=ALL)
    talk.answer()


def refused(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack()
    talk.data(DATA)
    talk.answer()


def granted(talk: Talk) -> None:
    talk.syn(b"")
    talk.syn_ack(0, COOKIE)
    talk.data(DATA)


def missing_syn_on_reused_ports(talk: Talk) -> None:
    accepted(talk)
    talk.isn += 3_046_133
    talk.when += 1
    talk.syn(COOKIE, DATA)
    talk.packets.pop()
    talk.syn_ack(ALL, isn=900_000)
    talk.data(at=ALL)
    talk.answer(isn=900_000)


def missing_syn_and_an_old_answer(talk: Talk) -> None:
    """Data of the connection that used the ports before, below what the SYN-ACK announced."""
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    named = talk.stamps[1]
    talk.say(False, 16, 60_000, talk.isn - 1000, b"", b"an old answer")
    talk.echo = named
    talk.data(at=ALL)


def far_acknowledgement(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(3_046_133)


def acknowledgement_of_a_missing_syn(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.echo = 17
    talk.syn_ack(ALL + 5)


def missing_second_syn(talk: Talk) -> None:
    lost_syn(talk)
    keep(talk, 1, 3, 4)


def missing_first_answer(talk: Talk) -> None:
    """Too much acknowledged, which the client resets and which was not captured."""
    talk.syn(COOKIE, DATA)
    talk.say(True, 4, talk.isn + 1 + ALL + 5, 0, b"", b"")
    talk.wait()
    talk.syn()
    talk.syn_ack(ALL)
    talk.data(at=ALL)


def lost_syn(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)


def skewed(tell: Callable[[Talk], None], seconds: float) -> Callable[[Talk], None]:
    """The clock of the tap on the server's packets is off by so much."""

    def told(talk: Talk) -> None:
        tell(talk)
        talk.packets = [
            each if each.outbound else Packet(each.when + seconds, each.data, each.outbound)
            for each in talk.packets
        ]

    told.__name__ = f"{tell.__name__}, {seconds} s"
    return told


def slow_and_accepted(talk: Talk) -> None:
    _slowly(talk, ALL)
    talk.data(at=ALL)
    _second_answer(talk, ALL)


def slow_and_refused(talk: Talk) -> None:
    _slowly(talk, 0, ANOTHER)
    talk.data(DATA)
    _second_answer(talk, 0, ANOTHER)


def _slowly(talk: Talk, acked: int, cookie: bytes | None = None) -> None:
    began = talk.when
    talk.syn(COOKIE, DATA)
    first = talk.stamps[0]
    talk.when = began + 1
    talk.syn()
    talk.when, talk.echo = began + SLOW, first
    talk.syn_ack(acked, cookie)
    talk.when = began + SLOW + 0.001


def _second_answer(talk: Talk, acked: int, cookie: bytes | None = None) -> None:
    """To the second SYN, a second behind the first."""
    talk.when, talk.echo = talk.when + 1, talk.stamps[0]
    talk.syn_ack(acked, cookie)
    talk.data(at=ALL)


def slow_at_the_server(talk: Talk) -> None:
    began = talk.when
    talk.syn(COOKIE, DATA)
    first, talk.when = talk.stamps[0], began
    talk.syn_ack(ALL)
    named, talk.when = talk.stamps[1], began + 1
    talk.syn()
    talk.when, talk.echo = began + 1, first
    talk.syn_ack(ALL)
    talk.when, talk.echo = began + SLOW, named
    talk.data(at=ALL)


def lost_at_the_server(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    talk.wait()
    talk.syn()
    talk.syn_ack(ALL)
    talk.data(at=ALL)


def lost_without_the_second_syn(talk: Talk) -> None:
    lost_at_the_server(talk)
    keep(talk, 1, 2, 4, 5)


def neither_late_nor_lost(talk: Talk) -> None:
    """Whether the SYN-ACK was under way for 1.5 s or 0.5 s: nothing shows it."""
    began = talk.when
    talk.syn(COOKIE, DATA)
    first, talk.when = talk.stamps[0], began + 1
    talk.syn()
    talk.when, talk.echo = began + 1.5, first
    talk.syn_ack(ALL)


def icmp(kind: int, code: int) -> Callable[[Talk], None]:
    def told(talk: Talk) -> None:
        talk.syn(COOKIE, DATA)
        talk.unreachable(kind, code)

    told.__name__ = f"ICMP {kind}.{code}"
    return told


def client_alone(tell: Callable[[Talk], None]) -> Callable[[Talk], None]:
    return _one_side(tell, outbound=True)


def server_alone(tell: Callable[[Talk], None]) -> Callable[[Talk], None]:
    return _one_side(tell, outbound=False)


def _one_side(tell: Callable[[Talk], None], *, outbound: bool) -> Callable[[Talk], None]:
    def told(talk: Talk) -> None:
        tell(talk)
        talk.packets = [each for each in talk.packets if each.outbound == outbound]

    told.__name__ = f"{tell.__name__}, {'client' if outbound else 'server'} alone"
    return told


def challenge(talk: Talk) -> None:
    """An ACK of a connection that the server still has on these ports."""
    talk.syn(COOKIE, DATA)
    talk.say(False, 16, 5, talk.isn - 5000, b"", b"")


def syn_ack_not_captured(talk: Talk) -> None:
    refused(talk)
    keep(talk, 1, 3, 4)


@dataclass(frozen=True)
class Case:
    """outcome, why: of the first connection of these ports; `why` is how it begins."""

    tell: Callable[[Talk], None]
    outcome: str
    why: str = ""
    stamped: bool = True
    family: int = 4


CASES = (
    Case(missing_syn_on_reused_ports, "accepted"),
    Case(missing_syn_on_reused_ports, "accepted", stamped=False),
    Case(missing_syn_and_an_old_answer, "accepted"),
    Case(far_acknowledgement, "unknown", "the SYN-ACK acknowledges another SYN", stamped=False),
    Case(acknowledgement_of_a_missing_syn, "unknown", "the SYN-ACK acknowledges another SYN"),
    Case(missing_second_syn, "unknown", "a SYN is missing: the SYN-ACK in"),
    Case(missing_second_syn, "unknown", "a SYN may be missing: ", stamped=False),
    Case(missing_first_answer, "unknown", "a frame is missing before"),
    Case(lost_syn, "syn-lost-fallback"),
    # Without timestamps nothing shows which SYN is answered by a SYN-ACK close to the second.
    Case(skewed(lost_syn, -0.03), "unknown", stamped=False),
    Case(skewed(lost_syn, 0.03), "syn-lost-fallback", stamped=False),
    Case(skewed(lost_syn, -0.03), "syn-lost-fallback"),
    Case(skewed(lost_syn, 0.03), "syn-lost-fallback"),
    *(
        Case(skewed(tell, seconds), outcome, stamped=stamped)
        for tell, outcome in (
            (accepted, "accepted"),
            (refused, "refused-silently"),
            (granted, "requested-granted"),
        )
        for seconds in (-0.03, 0.03)
        for stamped in (False, True)
    ),
    Case(slow_and_accepted, "accepted", "all data acknowledged; the SYN was sent again, but"),
    Case(slow_and_refused, "refused-cookie", "data not acknowledged, a new cookie came"),
    Case(slow_at_the_server, "accepted", "all data acknowledged; the SYN was sent again, but"),
    Case(lost_at_the_server, "syn-ack-lost", "the SYN was sent again after 1.020 s, but the first"),
    Case(lost_at_the_server, "syn-ack-lost", stamped=False),
    Case(lost_without_the_second_syn, "syn-ack-lost", "the SYN-ACK was sent again after 1.020 s"),
    Case(neither_late_nor_lost, "unknown", "the SYN was sent again after 1.000 s: its SYN-ACK was"),
    Case(icmp(3, 13), "unknown", "answered by ICMP in {}: communication prohibited"),
    Case(icmp(3, 3), "unknown", "answered by ICMP in {}: port unreachable"),
    Case(icmp(1, 1), "unknown", "answered by ICMP in {}: communication prohibited", family=6),
    Case(
        client_alone(accepted),
        "unknown",
        "one direction only: nothing from the server; the client went on behind the SYN's data",
    ),
    Case(
        client_alone(refused),
        "unknown",
        "one direction only: nothing from the server; the SYN's data was sent again",
    ),
    Case(server_alone(granted), "unknown", "the capture begins after the SYN"),
    Case(challenge, "unknown", "answered by an ACK of another connection"),
    Case(syn_ack_not_captured, "unknown", "a frame is missing before {}: the SYN-ACK; the SYN's"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """The first connection of each case by its client's port: 40000 and the case's number."""
    talks = []
    for number, case in enumerate(CASES):
        when = 1_700_000_000 + number * 20.0
        talk = Talk(40000 + number, case.family, when=when, stamped=case.stamped)
        case.tell(talk)
        talks.append(talk)
    capture = write(tmp_path_factory.mktemp("vantage") / "all.pcapng", talks)
    shown: dict[int, dict[str, Any]] = {}
    for each in connections(capture):
        shown.setdefault(each["client_port"], each)
    return shown


@pytest.mark.parametrize(
    "number",
    range(len(CASES)),
    ids=[f"{each.tell.__name__}, {each.stamped}" for each in CASES],
)
def test_what_the_capture_lacks_is_no_other_outcome(
    number: int, found: dict[int, dict[str, Any]]
) -> None:
    case, shown = CASES[number], found[40000 + number]
    assert shown["outcome"] == case.outcome, shown["why"]
    before, _, behind = case.why.partition("{}")
    assert shown["why"].startswith(before)
    assert behind in shown["why"]
    assert [each for each in shown["problems"] if each["severity"] != "note"] == []


WHOLE = {40000: "accepted", 40001: "refused-silently", 40002: "requested-granted"}
"""Outcomes of connections of which all was captured, by the client's port."""


class TestTruncated:
    """By a snap length: 54 bytes are Ethernet, IPv4 and TCP without options."""

    @pytest.fixture
    def frames(self) -> list[bytes]:
        return [
            MACS + (IPV4 if packet.data[0] >> 4 == 4 else IPV6) + packet.data
            for number, tell in enumerate((accepted, refused, granted))
            for packet in self.said(40000 + number, tell)
        ]

    @staticmethod
    def said(sport: int, tell: Callable[[Talk], None]) -> list[Packet]:
        talk = Talk(sport, stamped=True)
        tell(talk)
        return talk.packets

    @pytest.mark.parametrize("snap", [54, 58, 64, 70, 76, 80])
    def test_what_is_cut_off_is_unknown(
        self, snap: int, frames: list[bytes], tmp_path: Path
    ) -> None:
        capture = write_pcap(tmp_path / "cut.pcap", ETHERNET, frames, snap=snap)
        shown = {each["client_port"]: each for each in connections(capture)}
        for port, whole in WHOLE.items():
            outcome = shown.get(port, {}).get("outcome")
            assert outcome in {whole, "unknown", *([None] if whole == "requested-granted" else [])}
            if outcome == "unknown":
                assert "the capture cuts the SYN" in shown[port]["why"]
        assert [each["problems"] for each in shown.values()] == [[]] * len(shown)

    def test_a_short_head_says_nothing_of_the_option(
        self, frames: list[bytes], tmp_path: Path
    ) -> None:
        capture = write_pcap(tmp_path / "cut.pcap", ETHERNET, frames, snap=64)
        shown = {each["client_port"]: each for each in connections(capture)}
        assert {port: each["outcome"] for port, each in shown.items()} == {
            40000: "unknown",
            40001: "unknown",
        }
        assert shown[40000]["why"].endswith("; its data was acknowledged")
        assert shown[40001]["why"].endswith("; its data was not acknowledged")

    def test_a_whole_head_is_enough(self, frames: list[bytes], tmp_path: Path) -> None:
        capture = write_pcap(tmp_path / "cut.pcap", ETHERNET, frames, snap=96)
        shown = {each["client_port"]: each["outcome"] for each in connections(capture)}
        assert shown == WHOLE


@pytest.mark.parametrize("offset", [-0.15, 0.15])
@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("tell", [accepted, refused, granted, lost_syn])
def test_the_capture_of_the_other_end_adds_nothing(
    tell: Callable[[Talk], None], stamped: bool, offset: float, tmp_path: Path
) -> None:
    """Half of a long round trip away, by a clock that is off."""
    talk = Talk(stamped=stamped)
    tell(talk)
    slower = 20
    talk.packets = [
        Packet(_BEGAN + (each.when - _BEGAN) * slower, each.data, each.outbound)
        for each in talk.packets
    ]
    (alone,) = connections(write(tmp_path / "one.pcapng", [talk]))
    there, half = Talk(), RTT * slower / 2
    there.packets = [
        Packet(each.when + offset + (half if each.outbound else -half), each.data, each.outbound)
        for each in talk.packets
    ]
    (merged,) = connections(write(tmp_path / "merged.pcapng", [talk, there]))
    for name in ("outcome", "sent", "acked", "resent"):
        assert merged[name] == alone[name], merged["why"]
