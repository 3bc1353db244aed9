"""Loss and round-trip time, as control handshakes find them."""

from __future__ import annotations

import pytest

from scapy_tfo.suite.control import PathRecord


@pytest.mark.parametrize(
    ("times", "rtt", "lost"),
    [
        ([0.001, 0.02, 0.003], 0.02, 0),
        # Two satellites away, and steady.
        ([1.2, 1.3], 1.3, 0),
        # The second SYN-ACK was one that came again.
        ([0.001, 1.002, 0.003], 0.003, 1),
        # The first was, which the second tells.
        ([1.002, 0.001, 0.003], 0.003, 1),
    ],
)
def test_a_syn_ack_that_came_again_is_loss_and_no_round_trip(
    times: list[float], rtt: float, lost: int
) -> None:
    path = PathRecord()
    for each in times:
        path.took(each)
    assert (path.rtt, path.lost) == (rtt, lost)
    assert path.is_clean == (not lost)


def test_a_path_that_loses_is_waited_for_until_the_timer_of_the_target() -> None:
    path = PathRecord(rtt=0.1)
    assert path.patience == pytest.approx(1.0)
    path.lost = 1
    assert path.patience > 0.1 + 1


@pytest.mark.parametrize(
    ("room", "told"),
    [
        ({4: 1, 6: 1}, ["over IPv4 and IPv6 the target holds 1 "]),
        ({4: 1, 6: 2}, ["over IPv4 the target holds 1 ", "over IPv6 the target holds 2 "]),
        ({6: 3}, ["over IPv6 the target holds 3 "]),
    ],
)
def test_room_that_is_the_same_in_both_families_is_told_once(
    room: dict[int, int], told: list[str]
) -> None:
    notes = PathRecord(room=room).notes
    assert len(notes) == len(told)
    assert all(note.startswith(begin) for note, begin in zip(notes, told, strict=True))


def test_resets_are_counted_beside_all_handshakes() -> None:
    path = PathRecord(sent=9, reset=13)
    for lost in [True] * 13 + [False] * 31:
        path.held.count(lost=lost)
    assert any(note.startswith("13 of 53 control handshakes were reset") for note in path.notes)
