"""The sending half by itself: the window, the timer, and what waits for either."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.address import known_address
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment
from scapy_tfo.suite.delivery.outbox import Outbox, Written
from scapy_tfo.suite.delivery.timer import MOST_REPEATS, RetransmissionTimer, first_timeout
from scapy_tfo.suite.delivery.window import SendWindow

HERE, THERE = (known_address(ip_address(each).packed) for each in ("192.0.2.9", "192.0.2.1"))
SCALED = opt.padded(opt.push_options([opt.mss(1460), opt.window_scale(7)]))
ENDS = {"src": THERE, "dst": HERE, "sport": 7, "dport": 9}


def theirs(number: int, ack: int, window: int, flags: int = ACK, options: bytes = b"") -> Segment:
    return Segment(**ENDS, seq=number, ack=ack, window=window, flags=flags, options=options)


def opened(window: int = 1000, *, ours: bytes = b"", options: bytes = b"") -> SendWindow:
    found = SendWindow()
    opening = Segment(src=HERE, dst=THERE, sport=9, dport=7, flags=SYN, options=ours)
    found.hear(theirs(500, 101, window, SYN | ACK, options), opening)
    return found


def edge_after(*segments: Segment, **how: bytes) -> int | None:
    found = opened(**how)
    for each in segments:
        found.hear(each, Segment(src=HERE, dst=THERE, sport=9, dport=7))
    return found.edge


WINDOWS = [
    ("that of the SYN-ACK", [], {}, 1101),
    ("a later one", [theirs(501, 151, 2000)], {}, 2151),
    ("a smaller one", [theirs(501, 151, 10)], {}, 161),
    ("an older segment's is not read", [theirs(600, 151, 2000), theirs(501, 151, 9)], {}, 2151),
    ("an older acknowledgement's neither", [theirs(501, 151, 2000), theirs(501, 120, 9)], {}, 2151),
    ("a RST has none", [theirs(501, 151, 9, RST | ACK)], {}, 1101),
    ("a second SYN-ACK changes nothing", [theirs(500, 101, 9, SYN | ACK)], {}, 1101),
    ("a SYN-ACK's is not scaled", [], {"ours": SCALED, "options": SCALED}, 1101),
    ("later ones are", [theirs(501, 151, 2)], {"ours": SCALED, "options": SCALED}, 407),
    ("not unless we offered it", [theirs(501, 151, 2)], {"options": SCALED}, 153),
    ("nor unless they did", [theirs(501, 151, 2)], {"ours": SCALED}, 153),
]


@pytest.mark.parametrize(
    ("segments", "how", "edge"), [row[1:] for row in WINDOWS], ids=[row[0] for row in WINDOWS]
)
def test_which_window_counts(segments: list[Segment], how: dict[str, bytes], edge: int) -> None:
    assert edge_after(*segments, **how) == edge


def test_no_window_is_known_before_the_syn_ack() -> None:
    found = SendWindow()
    found.hear(theirs(501, 151, 2000), Segment(src=HERE, dst=THERE, sport=9, dport=7))
    assert (found.edge, found.mss) == (None, None)


def test_the_segment_size_is_the_targets_or_the_default() -> None:
    assert opened(options=SCALED).mss == 1460
    assert opened().mss == 536


def test_the_timer_doubles_and_gives_up() -> None:
    timer, now, waited = RetransmissionTimer(), 10.0, []
    while (due := timer.due(now, "here")) is not None:
        waited.append(due - now)
        now = due
        timer.sent_again(now)
    assert waited == [1.0, 2.0]
    assert len(waited) == MOST_REPEATS


def test_progress_begins_anew() -> None:
    timer = RetransmissionTimer()
    assert timer.due(0.0, "here") == 1.0
    timer.sent_again(1.0)
    assert timer.due(1.5, "here") == 3.0
    assert timer.due(1.5, "further on") == 2.5
    timer.stop()
    assert timer.due(7.0, "further on") == 8.0


def test_the_first_timeout_follows_the_path() -> None:
    assert first_timeout(0.001) == 1.0
    assert first_timeout(0.6) == pytest.approx(1.8)


def written(number: int, data: bytes, flags: int = ACK | PSH) -> Written:
    return Written(number, flags, data, (), {})


def sent(box: Outbox, una: int, edge: int) -> list[Written]:
    found = []
    while (each := box.next(una, edge)) is not None:
        found.append(each)
    return found


def test_what_does_not_fit_waits_in_its_order() -> None:
    box = Outbox()
    for each in (written(120, b"second"), written(100, b"x" * 20)):
        box.write(each)
    assert [each.seq for each in sent(box, 100, 100)] == []
    assert box.first_held == 100
    assert [each.data for each in sent(box, 100, 120)] == [b"x" * 20]
    assert [each.data for each in sent(box, 120, 130)] == [b"second"]
    assert box.first_held is None


def test_a_part_goes_out_only_where_nothing_is_under_way() -> None:
    box = Outbox()
    box.write(written(100, b"abcdef", ACK | PSH | FIN))
    (head,) = sent(box, 100, 104)
    assert (head.data, head.flags) == (b"abcd", ACK)
    assert sent(box, 100, 105) == []
    (text,) = sent(box, 104, 106)
    assert (text.data, text.flags) == (b"ef", ACK)
    (end,) = sent(box, 106, 107)
    assert (end.data, end.flags) == (b"", ACK | PSH | FIN)


def test_a_probe_is_a_byte_of_what_comes_next_and_may_be_taken() -> None:
    box = Outbox()
    box.write(written(101, b"yz"))
    box.write(written(100, b"x", ACK | FIN))
    probe = box.probe()
    assert probe is not None
    assert (probe.seq, probe.data, probe.flags) == (100, b"x", ACK)
    box.acknowledged(102)
    assert [(each.seq, each.data) for each in box.held] == [(102, b"z")]


STREAM = b"0123456789"
LOST = [
    ("nothing was sent", [], 101, None),
    ("what begins there", [written(101, b"0123"), written(105, b"45")], 105, b"45"),
    ("what begins before", [written(101, b"0123")], 103, b"0123"),
    ("what was written last", [written(101, b"01"), written(101, b"0123")], 101, b"0123"),
    ("nothing past a gap", [written(105, b"45")], 101, None),
    ("not what the case wants rejected", [written(101, b"xyz")], 101, None),
    ("altered where it counts no more", [written(101, b"XX23")], 103, b"XX23"),
    ("a FIN behind the stream", [written(111, b"", ACK | FIN)], 111, b""),
    ("no FIN inside it", [written(105, b"", ACK | FIN)], 105, None),
]


@pytest.mark.parametrize(
    ("box", "una", "data"), [row[1:] for row in LOST], ids=[r[0] for r in LOST]
)
def test_what_is_sent_again(box: list[Written], una: int, data: bytes | None) -> None:
    outbox = Outbox()
    for each in box:
        outbox.write(each)
    sent(outbox, 101, 200)
    lost = outbox.lost(una, una - 101, STREAM)
    assert (None if lost is None else lost.data) == data


def test_a_window_that_shrank_is_obeyed_but_for_a_byte() -> None:
    assert written(100, b"abcd").within(100, 104).data == b"abcd"
    assert written(100, b"abcd").within(100, 102).data == b"ab"
    assert written(100, b"abcd").within(102, 100).data == b"abc"


@given(
    start=st.integers(0, seq.MODULUS - 1),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    grants=st.lists(st.integers(1, 60), min_size=1, max_size=60),
    fin=st.booleans(),
)
def test_nothing_is_sent_twice_left_out_or_beyond_the_window(
    start: int, sizes: list[int], grants: list[int], fin: bool
) -> None:
    box, number, whole = Outbox(), start, b""
    for at, size in enumerate(sizes):
        data = bytes([at]) * size
        last = fin and at == len(sizes) - 1
        box.write(written(number, data, ACK | FIN if last else ACK))
        number, whole = seq.add(number, size), whole + data
    una, came, ended = start, b"", False
    for grant in [*grants, *[400] * len(sizes)]:
        edge = seq.add(una, grant)
        for each in sent(box, una, edge):
            assert seq.at_most(each.end, edge)
            assert each.seq == seq.add(start, len(came))
            came += each.data
            ended = bool(each.flags & FIN)
        una = seq.add(start, len(came) + ended)
        box.acknowledged(una)
    assert (came, ended) == (whole, fin)
