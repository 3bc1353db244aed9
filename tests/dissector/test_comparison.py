"""Captures of both ends, written packet by packet."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from crafted import COOKIE, DATA, RTT, Packet, Talk, write

from scapy_tfo.capture.comparing.comparison import Comparison, compare
from scapy_tfo.capture.reader import read_frames
from scapy_tfo.cli import main
from scapy_tfo.segment import Segment

AHEAD = 5.0
"""Seconds that the server's clock is ahead."""

Meddle = Callable[[int, Packet], list[Packet]]


def both_ends(
    tmp_path: Path,
    tell: Callable[[Talk], None],
    meddle: Meddle | None = None,
    *,
    everywhere: Callable[[Packet], list[Packet]] | None = None,
    ports: int = 1,
) -> tuple[Path, Path]:
    """Captures of the client's and of the server's end. meddle: what becomes of a packet, counted
    from 1. A connection to which nothing is done stands before and behind; but `everywhere` is done
    to all."""
    here, there = Talk(), Talk()
    for number in range(ports + 2):
        talk = Talk(40000 + number, when=1_700_000_000 + number * 10, stamped=True)
        tell(talk)
        is_between = 0 < number <= ports
        for at, packet in enumerate(talk.packets, 1):
            done = meddle(at, packet) if meddle and is_between else [packet]
            done = everywhere(packet) if everywhere else done
            sender, receiver = (here, there) if packet.outbound else (there, here)
            sender.packets.append(_moved(packet, 0 if packet.outbound else AHEAD))
            arrival = RTT / 2 + (AHEAD if packet.outbound else 0)
            receiver.packets += [_moved(each, arrival) for each in done]
    return write(tmp_path / "client.pcapng", [here]), write(tmp_path / "server.pcapng", [there])


def _moved(packet: Packet, seconds: float) -> Packet:
    return replace(packet, when=packet.when + seconds)


def accepted(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))
    talk.answer()


def lost_and_plain(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)


def done(comparison: Comparison, port: int = 40001) -> list[tuple[str, str, tuple[str, ...]]]:
    (found,) = [each for each in comparison.connections if each.client.endswith(f":{port}")]
    return [(each.what, each.kind, each.changes) for each in found.done]


def drop(number: int) -> Meddle:
    return lambda at, packet: [] if at == number else [packet]


def test_nothing_is_done_on_a_path_that_only_delays(tmp_path: Path) -> None:
    found = compare(*both_ends(tmp_path, accepted))
    assert [each.done for each in found.connections] == [()] * 3
    assert found.offset == pytest.approx(AHEAD * 1e9, abs=1e4)
    assert found.delay == pytest.approx(RTT / 2 * 1e9, abs=1e4)


def unanswered(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA))


@pytest.mark.parametrize(
    ("tell", "number", "what"),
    [
        (lost_and_plain, 1, "SYN"),
        (lost_and_plain, 4, "data"),
        (unanswered, 2, "SYN-ACK"),
        (accepted, 4, "data"),
    ],
)
def test_a_packet_that_does_not_arrive_was_dropped(
    tell: Callable[[Talk], None], number: int, what: str, tmp_path: Path
) -> None:
    found = compare(*both_ends(tmp_path, tell, drop(number)))
    assert done(found) == [(what, "dropped", ())]


@pytest.mark.parametrize("number", [1, 2])
def test_one_that_was_answered_was_only_not_captured(number: int, tmp_path: Path) -> None:
    found = compare(*both_ends(tmp_path, accepted, drop(number)))
    assert done(found) == []


def test_what_a_capture_does_not_reach_was_not_dropped(tmp_path: Path) -> None:
    client, server = both_ends(tmp_path, unanswered)
    short = Talk()
    short.packets = [
        Packet(1_700_000_000 + AHEAD + RTT / 2, each, outbound=True) for each in _sent(unanswered)
    ]
    found = compare(client, write(server, [short]))
    assert done(found, 40000) == []


def _sent(tell: Callable[[Talk], None]) -> list[bytes]:
    talk = Talk(40000, when=1_700_000_000, stamped=True)
    tell(talk)
    return [talk.packets[0].data]


def test_a_copy_and_a_packet_that_nobody_sent(tmp_path: Path) -> None:
    twice = compare(*both_ends(tmp_path, accepted, lambda _, packet: [packet, packet]))
    assert {each[:2] for each in done(twice)} == {
        (what, "copied") for what in ("SYN", "SYN-ACK", "ACK", "data")
    }

    def reset(at: int, packet: Packet) -> list[Packet]:
        forged = replace(Segment.from_bytes(packet.data), flags=4, payload=b"", seq=77)
        return [packet, replace(packet, data=forged.to_bytes())] if at == 1 else [packet]

    assert done(compare(*both_ends(tmp_path, accepted, reset))) == [("RST", "invented", ())]


def test_one_that_the_sender_goes_on_behind_is_not_invented(tmp_path: Path) -> None:
    client, server = both_ends(tmp_path, accepted)
    lacking = tmp_path / "lacking.pcapng"
    talk = Talk()
    talk.packets = [
        Packet(frame.when / 1e9, frame.data, outbound=True)
        for number, frame in enumerate(read_frames(server), 1)
        if number != 6
    ]
    assert done(compare(client, write(lacking, [talk]))) == []


def test_data_that_a_network_card_cuts_up_has_passed(tmp_path: Path) -> None:
    def cut(at: int, packet: Packet) -> list[Packet]:
        whole = Segment.from_bytes(packet.data)
        if at != 4:
            return [packet]
        return [
            replace(packet, data=replace(whole, seq=whole.seq + n, payload=each).to_bytes())
            for n, each in ((0, whole.payload[:4]), (4, whole.payload[4:]))
        ]

    assert done(compare(*both_ends(tmp_path, accepted, cut))) == []


def test_a_pair_of_hosts_whose_syns_with_data_are_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(_: int, packet: Packet) -> list[Packet]:
        segment = Segment.from_bytes(packet.data)
        return [] if segment.is_syn and segment.payload else [packet]

    client, server = both_ends(tmp_path, lost_and_plain, lose, ports=31)
    (pair,) = compare(client, server).pairs
    assert (pair.with_data, pair.with_data_dropped) == (33, 31)
    assert (pair.plain, pair.plain_dropped) == (33, 0)
    assert main(["capture", "compare", str(client), str(server)]) == 0
    told = capsys.readouterr().out
    assert "33 fast opens in both captures; the path did something to 31" in told
    assert "dropped 31 of 33 SYNs with data, 0 of 33 plain ones" in told
    # Those before and behind them came through.
    assert "31 of 66 SYNs are lost here, and nothing tells which" in told
    assert "SYN to the server dropped (frame" in told


def test_all_syns_with_data_are_lost_and_others_pass(tmp_path: Path) -> None:
    def lose(packet: Packet) -> list[Packet]:
        segment = Segment.from_bytes(packet.data)
        return [] if segment.is_syn and segment.payload else [packet]

    (pair,) = compare(*both_ends(tmp_path, lost_and_plain, everywhere=lose, ports=29)).pairs
    (deed,) = pair.deeds
    assert deed.name == "drops-syn-with-data"
    # The first is older than all that the server's capture has.
    assert deed.says == "SYNs with data are lost here: 30 of 30; others pass: 31 of 31"


def test_one_that_is_lost_is_no_rule(tmp_path: Path) -> None:
    (pair,) = compare(*both_ends(tmp_path, lost_and_plain, drop(1))).pairs
    assert [each.name for each in pair.deeds] == ["drops-syn"]
    assert "nothing tells which" in pair.deeds[0].says


def test_the_page_has_a_diagram_of_two_lanes(tmp_path: Path) -> None:
    client, server = both_ends(tmp_path, lost_and_plain, drop(1))
    out = tmp_path / "compared.html"
    assert main(["capture", "compare", str(client), str(server), "--html", str(out)]) == 0
    page = out.read_text()
    assert page.count("<svg") == 1
    assert "dropped</text>" in page
    assert "<script" not in page


def test_the_json_has_each_packet(tmp_path: Path) -> None:
    client, server = both_ends(tmp_path, lost_and_plain, drop(1))
    out = tmp_path / "compared.json"
    assert main(["capture", "compare", str(client), str(server), "--json", str(out)]) == 0
    told = json.loads(out.read_text())
    assert told["schema"] == 2
    kinds = [fate["kind"] for each in told["connections"] for fate in each["fates"]]
    assert kinds.count("dropped") == 1
    assert kinds.count("passed") == len(kinds) - 1


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, _ = both_ends(tmp_path, accepted)
    assert main(["capture", "compare", str(client), str(tmp_path / "none.pcap")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_files_in_the_wrong_order_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, server = both_ends(tmp_path, accepted)
    assert main(["capture", "compare", str(server), str(client)]) == 0
    assert "packets arrive before they are sent: " in capsys.readouterr().out
