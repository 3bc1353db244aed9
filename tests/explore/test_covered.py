"""What explorations say that they covered."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.conversation.met import POSSIBLE, Met
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import DOUBLED, LOST, Fault, Schedule, Wrong
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.covered import DIMENSIONS, Covered, plot, table
from scapy_tfo.variants.registry import named


def played(schedule: Schedule) -> Run:
    world = World(named("reference"), SimulatedBench("sim:reference").profile)
    return Play(world, schedule).play()


def test_a_conversation_meets_its_segments_in_their_states() -> None:
    met = played(Schedule("good", "echo", "write-end:100")).met
    assert list(dict.fromkeys(met)) == [
        ("LISTEN", "SYN, cookie and text"),
        ("SYN-RECEIVED", "ACK of something"),
        ("ESTABLISHED", "FIN"),
        ("LAST-ACK", "ACK of something"),
    ]


@pytest.mark.parametrize(
    ("wrong", "met"),
    [
        (Wrong("rst-in-window", 3), ("ESTABLISHED", "RST in the window")),
        (Wrong("text-beyond", 3), ("ESTABLISHED", "text ahead")),
        (Wrong("ack-far", 3), ("ESTABLISHED", "ACK of too much")),
        (Wrong("port-unreachable", 2), ("SYN-RECEIVED", "ICMP unreachable")),
        (Wrong("text-checksum", 3), ("ESTABLISHED", "wrong checksum")),
    ],
)
def test_a_wrong_segment_is_met_where_it_comes(wrong: Wrong, met: Met) -> None:
    assert met in played(Schedule("good", "echo", "write-later:100", wrong=wrong)).met


def test_what_is_met_first_keeps_its_number() -> None:
    covered = Covered()
    for schedule in (Schedule("plain"), Schedule("good"), Schedule("good", "mute")):
        covered.add(played(schedule))
    assert covered.schedules == 3
    assert covered.met["LISTEN", "SYN"] == 1
    assert covered.met["LISTEN", "SYN, cookie and text"] == 2
    assert covered.growth[-1] == (3, len(covered.met))
    assert set(covered.met) <= POSSIBLE
    assert "SYN" not in covered.holes["LISTEN"]
    assert "RST" in covered.holes["LISTEN"]
    assert len(plot(covered)) == len(covered.growth)


def test_pairs_are_those_that_met_in_a_schedule() -> None:
    schedules = [
        Schedule("good", "echo", context=(("sack", "no"),)),
        Schedule("good", "mute", faults=(Fault(True, 0, LOST), Fault(True, 1, DOUBLED))),
    ]
    covered = Covered()
    for schedule in schedules:
        covered.add(played(schedule))
    pairs = covered.pairs()
    assert pairs.keys() == set(itertools.combinations(DIMENSIONS, 2))
    assert pairs["server", "sack"] == (2, len(DIMENSIONS["server"]) * 2)
    assert pairs["server", "fault"][0] == 1
    assert pairs["fault", "second fault"][0] == 1
    assert pairs["wrong segment", "sack"][0] == 0


def test_what_processes_covered_is_joined() -> None:
    one, two = Covered(), Covered()
    one.add(played(Schedule("plain")))
    two.add(played(Schedule("good", "mute")))
    one.join(two)
    assert one.schedules == 2
    assert {one.met["LISTEN", "SYN"], one.met["LISTEN", "SYN, cookie and text"]} == {1}
    assert one.pairs()["opening", "server"][0] == 2
    assert "CLOSE-WAIT never met" in table(one)


def test_the_command_writes_what_was_covered(tmp_path: Path) -> None:
    path = tmp_path / "covered.md"
    arguments = ["--first", "--jobs", "1", "--out", str(tmp_path / "out"), "--covered", str(path)]
    main(["explore", "sim:accepts-any-cookie", *arguments])
    assert "| SYN, cookie and text |" in path.read_text()
