"""What the variants of scapy_tfo/variants/losses.py and others of a sender do differently."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK

from .bench import MSS, NEXT, REFERENCE, Talk

SACK = opt.sack_permitted()


def four_sent(name: str, *offer: opt.RawOption, more: int = 0) -> Talk:
    talk = Talk(name, *offer)
    assert talk.pieces(talk.write(4 * MSS + more)) == [(at * MSS, MSS) for at in range(4)]
    return talk


@pytest.mark.parametrize(
    ("name", "by_reports", "by_the_ack"),
    [(REFERENCE, [], [2]), ("leaves-out-what-was-reported", [2], [])],
)
def test_what_was_reported_is_left_out(
    name: str, by_reports: list[int], by_the_ack: list[int]
) -> None:
    """Segments 0 and 2 are lost. What brings 2 out again: the reports, or the partial ACK."""
    talk = four_sent(name, SACK)
    reports = ((MSS, 2 * MSS), (3 * MSS, 4 * MSS))
    out = [talk.numbers(talk.ack(0, *reports)) for _ in range(6)]
    assert out[:2] == [[], []]
    assert out[2][:1] == [0]
    assert [each for each in (*out[2][1:], *out[3], *out[4], *out[5]) if each < 4] == by_reports
    assert talk.numbers(talk.ack(2 * MSS, reports[1])) == by_the_ack


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        (REFERENCE, [1, 2, 3]),
        ("leaves-out-what-was-reported", [1, 2, 3]),
        ("leaves-it-out-after-a-timeout", [1, 3]),
    ],
)
def test_reports_after_a_timeout(name: str, sent: list[int]) -> None:
    talk = four_sent(name, SACK)
    talk.ack(0, (2 * MSS, 3 * MSS))
    assert talk.pieces(talk.until(1.5)) == [(0, MSS)]
    assert talk.numbers([*talk.ack(MSS), *talk.ack(2 * MSS)]) == sent


@pytest.mark.parametrize(("name", "samples"), [(REFERENCE, 1), ("times-every-segment", 4)])
def test_how_many_segments_are_timed(
    name: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(name)
    taken: list[float] = []
    monkeypatch.setattr(talk.connection.send, "measure", taken.append)
    talk.write(4 * MSS)
    talk.now += 0.5
    talk.ack(4 * MSS)
    assert taken == [0.5] * samples


@pytest.mark.parametrize(
    ("name", "new"), [(REFERENCE, [[], []]), ("sends-new-text-on-duplicates", [[4], [5]])]
)
def test_the_first_duplicates(name: str, new: list[list[int]]) -> None:
    talk = four_sent(name, more=4 * MSS)
    assert [talk.numbers(talk.ack(0)) for _ in range(2)] == new
    assert talk.numbers(talk.ack(0))[0] == 0


def test_a_duplicate_that_reports_nothing_new_lets_nothing_out() -> None:
    """RFC 5681 section 3.2, step 1."""
    talk = four_sent("sends-new-text-on-duplicates", SACK, more=4 * MSS)
    assert talk.pieces(talk.ack(0)) == []
    assert talk.pieces(talk.ack(0, (MSS, 2 * MSS))) == [(4 * MSS, MSS), (5 * MSS, MSS)]


@pytest.mark.parametrize(("name", "again"), [(REFERENCE, [(MSS, MSS)]), ("recovers-like-reno", [])])
def test_a_partial_ack(name: str, again: list[tuple[int, int]]) -> None:
    talk = four_sent(name)
    for _ in range(3):
        talk.ack(0)
    assert talk.pieces(talk.ack(MSS)) == again


@pytest.mark.parametrize(("name", "new"), [(REFERENCE, 7), ("inflates-the-window-little", 2)])
def test_duplicates_in_recovery(name: str, new: int) -> None:
    """Four segments were outstanding, and nine duplicates come."""
    talk = four_sent(name, more=20 * MSS)
    out = [number for _ in range(9) for number in talk.numbers(talk.ack(0))]
    assert len([each for each in out if each]) == new


@pytest.mark.parametrize(("name", "threshold"), [(REFERENCE, 2), ("cubic", 2.8)])
def test_the_window_after_a_loss(name: str, threshold: float) -> None:
    talk = four_sent(name)
    for _ in range(3):
        talk.ack(0)
    assert talk.connection.send.ssthresh == threshold * MSS


@pytest.mark.parametrize("name", [REFERENCE, "undoes-timeouts-by-timestamps"])
def test_a_timeout_that_came_too_early(name: str) -> None:
    """The ACK that comes after it echoes the first sending."""
    talk = Talk(name, stamped=True)
    talk.write(4 * MSS)
    first = talk.last
    talk.until(1.5)
    talk.last = first
    out = talk.pieces(talk.ack(MSS))
    assert bool(out) == (name == REFERENCE)


@pytest.mark.parametrize("name", [REFERENCE, "undoes-timeouts-by-the-next-acks"])
def test_acks_that_cover_what_was_not_sent_again(name: str) -> None:
    talk = four_sent(name, more=8 * MSS)
    talk.until(1.5)
    talk.ack(MSS)
    out = talk.pieces(talk.ack(2 * MSS))
    assert (out[0][0] < 4 * MSS) == (name == REFERENCE)


@pytest.mark.parametrize(
    ("name", "sizes"), [(REFERENCE, [200]), ("resends-segments-as-they-were", [100, 100])]
)
def test_text_that_is_sent_again_is_cut(name: str, sizes: list[int]) -> None:
    talk = Talk(name)
    talk.write(100)
    talk.write(100)
    assert [size for _, size in talk.pieces(talk.until(1.5))] == sizes


@pytest.mark.parametrize(("name", "again"), [(REFERENCE, [1, 2]), ("resends-what-is-missing", [1])])
def test_what_follows_the_head_after_a_timeout(name: str, again: list[int]) -> None:
    talk = four_sent(name)
    assert talk.pieces(talk.until(1.5)) == [(0, MSS)]
    assert talk.numbers(talk.ack(MSS)) == again
    assert talk.numbers(talk.ack(3 * MSS)) == [3]


@pytest.mark.parametrize(
    ("name", "again"), [(REFERENCE, []), ("resends-beyond-a-shrunk-window", [1, 2])]
)
def test_a_window_that_shrank(name: str, again: list[int]) -> None:
    talk = four_sent(name)
    talk.ack(0, window=900)
    talk.until(1.5)
    assert talk.numbers(talk.ack(MSS, window=900)) == again


@pytest.mark.parametrize(
    ("name", "after"),
    [
        (REFERENCE, 1.0),
        ("fills-small-windows-after-a-tenth", 0.1),
        ("fills-small-windows-after-half-a-second", 0.5),
    ],
)
def test_a_short_segment_into_a_small_window(name: str, after: float) -> None:
    talk = Talk(name)
    talk.ack(0, window=300)
    assert talk.write(4 * MSS) == []
    assert talk.until(after - 0.01) == []
    assert talk.pieces(talk.until(0.02)) == [(0, 300)]
    # That was no retransmission: the next one waits for the timeout.
    assert talk.until(0.9) == []


@pytest.mark.parametrize(("name", "burst"), [(REFERENCE, 8), ("starts-slowly-after-a-pause", 4)])
def test_after_a_pause(name: str, burst: int) -> None:
    talk = four_sent(name)
    for at in range(1, 5):
        talk.ack(at * MSS)
    talk.until(60)
    assert len(talk.write(20 * MSS)) == burst


@pytest.mark.parametrize(
    ("name", "octets"), [("probes-idle-connections", 0), ("probes-with-an-octet", 1)]
)
def test_an_idle_connection_is_probed(name: str, octets: int) -> None:
    assert Talk(REFERENCE).until(30_000) == []
    talk = Talk(name)
    assert talk.until(7_199) == []
    (probe,) = talk.until(2)
    assert (probe.seq, len(probe.payload), probe.flags) == (talk.begin - 1, octets, ACK)
    # Heard of, it is left alone for two hours; then nothing comes, and it is given up.
    assert talk.tell() == []
    assert len(talk.until(7_201 + 75 * 9)) == 9
    assert talk.errors == ["ETIMEDOUT"]
    assert probe.ack == NEXT


def test_a_timeout_that_is_undone_leaves_a_segment_of_window() -> None:
    """RFC 4015 section 3.2 step 7, where all that was outstanding is a few bytes."""
    talk = Talk("undoes-timeouts-by-timestamps", stamped=True)
    talk.write(100)
    first = talk.last
    talk.until(1.5)
    talk.last = first
    talk.ack(100)
    assert talk.pieces(talk.write(500)) == [(100, 500)]
