"""Times and bytes of a connection, from captures at different places, and what they lack."""

from __future__ import annotations

from pathlib import Path

import pytest
from crafted import COOKIE, DATA, RTT, Talk, write
from test_vantage import ALL, accepted, granted, keep, refused
from tshark import connections, needs_tshark

pytestmark = needs_tshark


class TestNumbers:
    def test_at_the_client_a_round_trip_ends_with_the_syn_ack(self, tmp_path: Path) -> None:
        assert self.rtt(tmp_path, hops=(64, 57)) == pytest.approx(RTT, abs=1e-5)

    def test_at_the_server_it_begins_with_the_syn_ack(self, tmp_path: Path) -> None:
        assert self.rtt(tmp_path, hops=(57, 64), syn_ack=0.0) == pytest.approx(RTT, abs=1e-5)

    def test_between_them_it_is_the_sum(self, tmp_path: Path) -> None:
        found = self.rtt(tmp_path, hops=(60, 57), syn_ack=RTT / 4, data=RTT * 3 / 4)
        assert found == pytest.approx(RTT, abs=1e-5)

    @staticmethod
    def rtt(
        tmp_path: Path, hops: tuple[int, int], syn_ack: float = RTT, data: float = RTT
    ) -> float:
        talk = Talk(hops=hops)
        began = talk.when
        talk.syn(COOKIE, DATA)
        talk.when = began + syn_ack
        talk.syn_ack(ALL)
        talk.when = began + syn_ack + data
        talk.data(at=ALL)
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        return float(found["rtt"])

    def test_after_four_syns_both_times_count_from_the_last(self, tmp_path: Path) -> None:
        talk = Talk(hops=(64, 57))
        began = talk.when
        talk.syn(COOKIE, DATA)
        for seconds in (1, 3, 7):
            talk.when = began + seconds
            talk.syn()
        talk.syn_ack()
        talk.data(DATA)
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        assert found["outcome"] == "syn-lost-fallback"
        assert found["rtt"] == pytest.approx(RTT, abs=1e-5)
        assert found["seconds_lost"] == pytest.approx(7, abs=1e-5)

    @pytest.mark.parametrize(("hops", "wanted"), [((64, 57), None), ((57, 64), RTT)])
    def test_a_syn_ack_that_a_timer_may_have_sent_ends_no_round_trip(
        self, hops: tuple[int, int], wanted: float | None, tmp_path: Path
    ) -> None:
        """The SYN-ACK of the first SYN was lost: seen by the client, and by the server."""
        talk = Talk(stamped=True, hops=hops)
        talk.syn(COOKIE, DATA)
        named = talk.stamps[0]
        talk.wait()
        talk.syn()
        talk.echo = named
        talk.syn_ack(len(DATA))
        talk.data(at=len(DATA))
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        assert found["outcome"] == "syn-ack-lost"
        assert found.get("rtt") == (wanted and pytest.approx(wanted, abs=1e-5))

    def test_a_capture_that_lacks_a_syn_tells_no_times(self, tmp_path: Path) -> None:
        talk = Talk(stamped=True, hops=(64, 57))
        talk.syn(COOKIE, DATA)
        talk.wait()
        talk.syn()
        talk.syn_ack()
        talk.data(DATA)
        talk.answer()
        talk.packets.pop(1)
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        assert found["outcome"] == "unknown"
        assert found.keys().isdisjoint({"rtt", "first_answer", "seconds_lost"})

    def test_data_that_the_client_could_not_use_is_no_answer(self, tmp_path: Path) -> None:
        talk = Talk(stamped=True, hops=(57, 64))
        began = talk.when
        talk.syn(COOKIE, DATA)
        talk.syn_ack(ALL)
        talk.answer()
        talk.wait()
        talk.syn()
        talk.syn_ack(ALL)
        talk.data(at=ALL)
        answered = talk.when - began
        talk.answer()
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        assert found["outcome"] == "syn-ack-lost"
        assert found["first_answer"] == pytest.approx(answered, abs=1e-5)

    def test_a_later_byte_is_not_the_first(self, tmp_path: Path) -> None:
        talk = Talk()
        accepted(talk)
        keep(talk, 1, 2, 3)
        talk.answer(isn=70_500)
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        assert "first_answer" not in found

    def test_data_sent_again_that_was_not_captured_is_not_none(self, tmp_path: Path) -> None:
        talk = Talk()
        refused(talk)
        keep(talk, 1, 2, 4)
        (found,) = connections(write(tmp_path / "one.pcapng", [talk]))
        assert "resent" not in found


def test_a_silent_refusal_says_what_is_known_of_the_server(tmp_path: Path) -> None:
    talks = []
    for number, tell in enumerate((granted, accepted, refused)):
        talk = Talk(40000 + number, when=1_700_000_000 + number)
        tell(talk)
        talks.append(talk)
    *_, found = connections(write(tmp_path / "three.pcapng", talks))
    assert found["outcome"] == "refused-silently"
    assert found["why"] == (
        "data not acknowledged, no option in the SYN-ACK; the server accepted other data in 5; "
        "it granted this cookie in 2"
    )
