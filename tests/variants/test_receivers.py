"""What the variants of a receiver, of its clock and of its accept queue do differently."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.segment import ACK, FIN, SYN, Segment
from scapy_tfo.variants.registry import joined

from .bench import MSS, NEXT, REFERENCE, Talk, against, variant

DAY = 86_400.0


def report(segments: list[Segment]) -> list[int]:
    """Where the ranges of the last segment's SACK option begin, as offsets."""
    option = segments[-1].option(opt.SACK)
    assert option is not None
    data = option.data
    return [int.from_bytes(data[at : at + 4], "big") - NEXT for at in range(0, len(data), 8)]


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        (REFERENCE, [50, 10, 70, 30]),
        ("sorts-reports", [50, 10, 30, 70]),
        ("reports-the-first-ranges", [50, 10, 70, 30]),
    ],
)
def test_the_order_of_four_ranges(name: str, blocks: list[int]) -> None:
    talk = Talk(name, opt.sack_permitted())
    for offset in (30, 70, 10):
        talk.text(offset)
    assert report(talk.text(50)) == blocks


@pytest.mark.parametrize(
    ("name", "left_out"),
    [(REFERENCE, 90), ("sorts-reports", 90), ("reports-the-first-ranges", 170)],
)
def test_the_range_that_has_no_room(name: str, left_out: int) -> None:
    talk = Talk(name, opt.sack_permitted())
    offsets = (90, 130, 170, 10)
    for offset in offsets:
        talk.text(offset)
    assert {*offsets, 50} - set(report(talk.text(50))) == {left_out}


@pytest.mark.parametrize(
    ("name", "wait"), [(REFERENCE, 0.0), ("acknowledges-filled-gaps-later", 0.2)]
)
def test_text_that_fills_a_gap(name: str, wait: float) -> None:
    talk = Talk(name)
    assert len(talk.text(10, 5)) == 1
    answer = talk.text(0)
    if wait:
        assert answer == []
        assert talk.until(wait - 0.01) == []
        answer = talk.until(0.02)
    assert [each.ack - NEXT for each in answer] == [15]


@pytest.mark.parametrize(
    ("name", "wait"), [(REFERENCE, 0.0), ("acknowledges-early-text-later", 0.2)]
)
def test_text_that_comes_early(name: str, wait: float) -> None:
    talk = Talk(name, opt.sack_permitted())
    answers = talk.text(10) + talk.text(30)
    if wait:
        assert answers == []
        assert talk.until(wait - 0.01) == []
        answers = talk.until(0.02)
    assert report(answers) == [30, 10]
    assert len(answers) == (1 if wait else 2)


@pytest.mark.parametrize(("name", "wait"), [(REFERENCE, 0.0), ("acknowledges-fins-later", 0.2)])
def test_a_fin(name: str, wait: float) -> None:
    talk = Talk(name)
    answer = talk.tell(flags=FIN | ACK)
    if wait:
        assert answer == []
        assert talk.until(wait - 0.01) == []
        answer = talk.until(0.02)
    assert [each.ack - NEXT for each in answer] == [1]


@pytest.mark.parametrize(
    ("name", "told"), [(REFERENCE, True), ("opens-the-window-in-silence", False)]
)
def test_a_window_that_opens(name: str, told: bool) -> None:
    talk = Talk(name)
    talk.connection.pause()
    at = 0
    while talk.last.window:
        talk.text(at, min(MSS, talk.last.window))
        at = talk.last.ack - NEXT
    talk.connection.resume(talk.now)
    assert [each.window for each in talk.noted(talk.answers())] == [0xFFFF] * told
    (answer,) = talk.text(at, 1)
    assert (answer.ack - NEXT, answer.window) == (at + 1, 0xFFFF)


@pytest.mark.parametrize(
    ("name", "size"), [(REFERENCE, 1000), ("tells-of-a-quarter-of-the-window", 500)]
)
def test_how_far_a_window_opens_before_it_is_told(name: str, size: int) -> None:
    talk = Talk(name)
    connection = talk.connection
    assert isinstance(connection, PassiveConnection)
    connection.recv.wnd = 2000
    connection.pause()
    talk.text(0, MSS)
    talk.text(MSS, MSS)
    assert talk.last.window == 0
    connection.read_some(size - 1, talk.now)
    assert talk.answers() == []
    connection.read_some(1, talk.now)
    assert [each.window for each in talk.answers()] == [size]


@pytest.mark.parametrize(("name", "taken"), [(REFERENCE, []), ("measures-by-timestamps", [0.5])])
def test_what_a_timestamp_says_of_the_round_trip(
    name: str, taken: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both segments are sent at once, and the first alone is timed by the reference."""
    talk = Talk(name, stamped=True)
    talk.write(2 * MSS)
    first = talk.last
    talk.now += 0.5
    talk.ack(MSS)
    samples: list[float] = []
    monkeypatch.setattr(talk.connection.send, "measure", samples.append)
    talk.last = first
    talk.ack(2 * MSS)
    assert samples == pytest.approx(taken, abs=0.002)


@pytest.mark.parametrize(
    ("name", "taken"), [(REFERENCE, True), ("counts-idle-time-from-the-last-segment", False)]
)
def test_an_old_timestamp_after_idle_days(name: str, taken: bool) -> None:
    """Text past a gap does not change TS.Recent; it comes after 20 of 30 days."""
    talk = Talk(name, stamped=True)
    talk.now += 20 * DAY
    talk.text(10)
    talk.now += 10 * DAY
    talk.tsval = 50
    (answer,) = talk.text(0)
    assert (answer.ack - NEXT == 20) == taken


@pytest.mark.parametrize("name", [REFERENCE, "counts-idle-time-from-the-last-segment"])
def test_all_text_after_a_month_of_rest_is_taken(name: str) -> None:
    """What invalidates TS.Recent takes its place (RFC 7323 section 5.5)."""
    talk = Talk(name, stamped=True)
    talk.now += 30 * DAY
    talk.tsval = 50
    assert [each.ack - NEXT for each in talk.text(0)] == [10]
    talk.now += 1.0
    assert [each.ack - NEXT for each in talk.text(10)] == [20]


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        (REFERENCE, []),
        ("drops-acks-while-none-is-accepted", []),
        ("resets-while-none-is-accepted", ["R"]),
    ],
)
def test_an_ack_while_the_accept_queue_is_full(name: str, answers: list[str]) -> None:
    script = against(name, accept_queue=1)
    syn_acks = [script.one(SYN, sport=port) for port in (40001, 40002)]
    out = [script.send(ACK, sport=each.dport, seq=NEXT, ack=each.end) for each in syn_acks]
    assert out[0] == []
    assert ["R" for each in out[1] if each.is_rst] == answers
    open_now = [each.state.value for each in script.stack.connections.values()]
    assert open_now.count("SYN-RECEIVED") == (name == "drops-acks-while-none-is-accepted")
    script.wait(0.1)
    assert script.listener.queue.waiting is None or not script.listener.queue.waiting


@pytest.mark.parametrize("name", ["sorts-reports", "reports-the-first-ranges"])
def test_where_nothing_was_kept_nothing_is_reported(name: str) -> None:
    """Together with a receiver that agrees to SACK and never sends it."""
    both = joined("both", [variant(name), variant("reports-no-blocks")])
    talk = Talk(both, opt.sack_permitted())
    (answer,) = talk.text(10)
    assert answer.option(opt.SACK) is None
