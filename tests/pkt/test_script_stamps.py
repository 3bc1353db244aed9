"""TS val that are times: read off scripts, and held against what came."""

from __future__ import annotations

import ipaddress

import pytest

from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.script_stamps import Due, stamps_due, wrong_stamp

MS = 1_000_000
END = ipaddress.ip_address("192.0.2.1")


def packets(*given: tuple[str, int]) -> str:
    """A script whose packets have these times and TS val; line 2 is the first."""
    lines = [f"{time} > . 1:1(0) ack 1 <nop,nop,TS val {value} ecr 1>" for time, value in given]
    return "0 close(3) = 0\n" + "\n".join(lines)


def due(*given: tuple[str, int], tick: int = 0) -> dict[int, int]:
    """By line: when it comes at the earliest, in ms."""
    found = stamps_due(parse(packets(*given)), tick)
    return {line: each.earliest // MS for line, each in found.items()}


def test_with_a_tick_all_but_the_first_are_judged() -> None:
    given = (("+.1", 7), ("+.01", 900), ("+.02~+.03", 900), ("1", 900))
    assert due(*given, tick=MS) == {3: 10, 4: 30, 5: 900}
    found = stamps_due(parse(packets(*given)), MS)
    assert found[4] == Due(first=7, value=900, earliest=30 * MS, latest=40 * MS, tick=MS)


@pytest.mark.parametrize(
    ("given", "judged"),
    [
        ((("+0", 100), ("+.01", 110), ("+.01", 150)), {4: 20}),
        ((("+0", 100), ("+.01", 110), ("+.01", 120)), {}),
        ((("+0", 100), ("+.01", 150)), {}),
        # Names, and one that is right by chance.
        ((("+0", 1000), ("+.01", 1001), ("+.01", 1002)), {}),
        ((("+0", 1000), ("+0", 1000), ("+.1", 1001)), {}),
        ((("+0", 100), ("+.01", 200), ("+0", 110), ("+0", 110), ("+.01", 114)), {}),
        # Of another time than the script can know.
        ((("+0", 100), ("+.01", 110), ("+.01~+.02", 150)), {}),
        ((("+0", 100), ("+.01", 110), ("*", 150)), {}),
    ],
)
def test_without_one_all_but_one_have_to_agree(
    given: tuple[tuple[str, int], ...], judged: dict[int, int]
) -> None:
    assert due(*given) == judged


def test_a_socket_of_its_own_has_a_clock_of_its_own() -> None:
    first, second = packets(("+0", 100), ("+.01", 110)), packets(("+0", 500), ("+.01", 510))
    script = first + "\n+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n" + second[15:]
    found = stamps_due(parse(script), MS)
    assert {line: each.first for line, each in found.items()} == {3: 100, 6: 500}


def told(value: int, live: int, came: float, *, tick: int = MS, script: float = 20) -> list[str]:
    """came, script: ms after the first packet, whose TS val is 100, on the wire 2**32 - 10."""
    flow = Flow(END, END, 1, 2)
    flow.note_stamp(100, 2**32 - 10, 5 * MS)
    at = int(script * MS)
    when = 5 * MS + int(came * MS)
    return list(map(str, wrong_stamp(Due(100, value, at, at, tick), flow, value, live, when)))


def test_a_value_of_another_time_is_wrong() -> None:
    assert told(120, 10, 20) == []
    assert told(122, 10, 20) == told(118, 10, 20) == []
    assert told(123, 10, 20) == ["TS val: expected 123, got 120"]
    assert told(116, 10, 20) == ["TS val: expected 116, got 120"]


def test_what_came_late_has_a_later_value() -> None:
    assert told(120, 40, 50) == []
    # The script's value may hold what its times do not say, such as how long a command takes.
    assert told(150, 40, 50) == []
    assert told(135, 40, 50) == ["TS val: expected 135, got 150"]


def test_a_kernel_with_a_clock_of_its_own_is_not_blamed() -> None:
    assert told(150, 2**32 - 8, 20) == []
    assert told(150, 10, 20, tick=10 * MS) == []
    assert told(120, 2**32 - 8, 20) == []


def test_another_connection_is_not_judged_by_this_one() -> None:
    assert wrong_stamp(Due(7, 50, 0, 0, MS), Flow(END, END, 1, 2), 50, 3, 0) == []
    flow = Flow(END, END, 1, 2)
    flow.note_stamp(100, 0, 0)
    assert wrong_stamp(Due(7, 50, 0, 0, MS), flow, 50, 3, 0) == []
