"""Packets of the server that may be of another connection, or of the one that is judged: what is
certain is told, and the rest is unknown, never another outcome and never a charge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crafted import COOKIE, DATA, Packet, Talk, write
from encapsulations import ETHERNET, IPV4, MACS
from test_places import write_pcap
from tshark import connections, needs_tshark

pytestmark = needs_tshark

ALL = len(DATA)
OTHER_ISN = 900_000
GIGABYTES = 3 << 30


def taken(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    talk.data(at=ALL)


def taken_twice(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    named = talk.stamps[0]
    talk.syn_ack(ALL)
    talk.echo = named
    talk.syn_ack(ALL, isn=OTHER_ISN)
    talk.data(at=ALL)


def acknowledged_too_much(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL + 5)
    talk.wait()
    talk.syn()
    talk.syn_ack(ALL)
    talk.data(at=ALL)


def early(tell: Callable[[Talk], None]) -> Callable[[Talk], None]:
    """By clocks that differ, each SYN-ACK is earlier than the first SYN."""

    def told(talk: Talk) -> None:
        tell(talk)
        talk.packets = [
            each if each.outbound else Packet(each.when - 0.06, each.data, each.outbound)
            for each in talk.packets
        ]

    return told


def judged(tell: Callable[[Talk], None], place: Path, *, stamped: bool = True) -> dict[str, Any]:
    talk = Talk(stamped=stamped)
    tell(talk)
    (found,) = connections(write(place / "one.pcapng", [talk]))
    return found


def rules(found: dict[str, Any]) -> list[str]:
    return [each["rule"].partition(":")[0] for each in found["problems"]]


class TestBeforeTheirSyn:
    def test_two_that_name_it_took_its_data_twice(self, tmp_path: Path) -> None:
        found = judged(early(taken_twice), tmp_path)
        assert (found["outcome"], rules(found)) == ("replayed", ["DUP-3"])

    def test_one_that_names_it_and_acknowledges_too_much(self, tmp_path: Path) -> None:
        found = judged(early(acknowledged_too_much), tmp_path)
        assert (found["outcome"], rules(found)) == ("over-acknowledged", ["CLI-15"])

    def test_one_that_names_none_and_acknowledges_too_much(self, tmp_path: Path) -> None:
        """It may be of a connection that used the ports before."""
        found = judged(early(acknowledged_too_much), tmp_path, stamped=False)
        assert (found["outcome"], rules(found)) == ("unknown", [])
        assert found["why"].endswith("may be of this connection, too")


class TestASecondServersIsn:
    def test_in_a_syn_ack_that_answers_what_was_not_captured(self, tmp_path: Path) -> None:
        def tell(talk: Talk) -> None:
            taken(talk)
            talk.echo = talk.stamps[0] + 1000
            talk.syn_ack(ALL, isn=OTHER_ISN)

        found = judged(tell, tmp_path)
        assert (found["outcome"], rules(found)) == ("unknown", [])

    def test_that_the_clients_first_packet_acknowledges(self, tmp_path: Path) -> None:
        """The SYN-ACK of the connection that the client has was not captured."""

        def tell(talk: Talk) -> None:
            talk.syn(COOKIE, DATA)
            talk.syn_ack(ALL, isn=OTHER_ISN << 5)
            talk.data(at=ALL)

        found = judged(tell, tmp_path)
        assert (found["outcome"], rules(found)) == ("unknown", [])
        assert found["why"].startswith("a frame is missing before 3")

    @pytest.mark.parametrize("wait", [0, 30])
    def test_that_only_its_data_shows(self, wait: float, tmp_path: Path) -> None:
        """Soon, it is of a second connection; later, gigabytes may have been sent meanwhile."""

        def tell(talk: Talk) -> None:
            taken(talk)
            talk.when += wait
            talk.answer(isn=70_000 + GIGABYTES)

        found = judged(tell, tmp_path)
        wanted = ("unknown", []) if wait else ("replayed", ["DUP-3"])
        assert (found["outcome"], rules(found)) == wanted

    def test_a_long_answer_of_which_the_beginning_was_not_captured(self, tmp_path: Path) -> None:
        def tell(talk: Talk) -> None:
            taken(talk)
            for sent in (2 << 20, 1 << 30, 2 << 30, 3 << 30):
                talk.answer(isn=70_000 + sent)

        found = judged(tell, tmp_path)
        assert (found["outcome"], rules(found)) == ("accepted", [])


def test_a_plain_syn_that_was_cut_off_is_still_known_by_its_number(tmp_path: Path) -> None:
    """The client had given fast open up; the SYN with the data came late, and was taken."""
    talk = Talk(stamped=True)
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)
    talk.answer()
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL, isn=OTHER_ISN)
    talk.data(at=ALL)
    talk.wait()
    talk.syn_ack(ALL, isn=OTHER_ISN)
    frames = [MACS + IPV4 + each.data for each in talk.packets]
    found = connections(write_pcap(tmp_path / "cut.pcap", ETHERNET, frames, snap=60))
    assert [(each["outcome"], rules(each)) for each in found] == [("unknown", [])]


def test_what_was_said_on_a_plain_syn_of_the_same_number_is_no_second_answer(
    tmp_path: Path,
) -> None:
    """The SYN with data comes when the plain one's connection is over, of which copies come."""
    talk = Talk(stamped=True)
    talk.syn(options=b"")
    talk.syn_ack()
    talk.data(DATA)
    talk.answer()
    answer = talk.packets[-1]
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL, isn=OTHER_ISN + GIGABYTES)
    talk.packets.append(Packet(talk.when, answer.data, answer.outbound))
    (shown,) = connections(write(tmp_path / "late.pcapng", [talk]))
    assert (shown["outcome"], shown["problems"]) == ("accepted", [])
