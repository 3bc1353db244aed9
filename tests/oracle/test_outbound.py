"""The states that the target may be in, and what it owes, after what was sent and what came."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.program.payload import text
from scapy_tfo.program.program import Cookie, Option
from tests.oracle.conversations import GOOD, MSS, SPOILT, TIMED, Conversation, crowd

TS = (*GOOD, Option("ts"))
DAMAGED = (Option("fo", length=255, cookie=Cookie()),)
OLD = (Option("nop"), Option("nop"), Option("ts", -500))


def new(**more: object) -> Conversation:
    return Conversation(**more)


def half_open(size: int = 20) -> Conversation:
    return new().syn(size=size, options=GOOD).answered(taken=size)


def opened(size: int = 20) -> Conversation:
    return new().opened(size)


def timed() -> Conversation:
    it = new().syn(size=20, options=TS).answered(20, (MSS, Option("ts")))
    return it.send(".", 21, 1, options=TIMED)


def narrow() -> Conversation:
    """A thousand bytes came back, and no window behind the SYN was larger than 500."""
    it = new().syn(options=GOOD).answered().send(".", 1, 1, window=500)
    it.send("P.", 1, 1, 1000, window=500).echoed(1, 500, ack=1001)
    it.send(".", 1001, 501, window=500).echoed(501, 500, ack=1001)
    return it.send(".", 1001, 1001, window=500)


STATES: dict[str, tuple[Callable[[], Conversation], str]] = {
    "before anything": (new, "LISTEN"),
    "after a SYN": (lambda: new().syn(), "SYN-RCVD"),
    "after a SYN that may be dropped": (lambda: new().send("SF"), "LISTEN or SYN-RCVD"),
    "after its answer": (half_open, "SYN-RCVD"),
    "after the ACK": (opened, "OPEN"),
    "after an ACK outside the window": (lambda: half_open().send(".", 500, 1), "SYN-RCVD or OPEN"),
    "after an ACK of nothing": (
        lambda: half_open().send(".", 21, 5000),
        "LISTEN or SYN-RCVD",
    ),
    "after FIN with the ACK": (lambda: half_open().send("F.", 21, 1), "OPEN"),
    "after a segment without ACK": (lambda: half_open().send("P", 21, None, 5), "SYN-RCVD"),
    "after RST": (lambda: half_open().send("R", 21), "LISTEN"),
    "after RST in the window": (lambda: opened().send("R", 30), "LISTEN or OPEN"),
    "after RST behind the window": (lambda: opened().send("R", 20), "OPEN"),
    "after RST without a connection": (lambda: new().send("R", 1), "LISTEN"),
    "after the SYN again": (lambda: half_open().syn(size=20, options=GOOD), "SYN-RCVD"),
    "after a SYN in the window": (lambda: opened().syn(25), "LISTEN or OPEN"),
    "after an old SYN": (lambda: opened().syn(-500), "OPEN"),
    "after an old SYN whose FIN is old as well": (lambda: opened().send("SF", 19), "OPEN"),
    "after an old SYN whose FIN is not": (lambda: opened().send("SF", 20), "LISTEN or OPEN"),
    "after SYN-ACK": (lambda: half_open().send("S.", 0, 1), "LISTEN or SYN-RCVD"),
    "after RST of its own": (
        lambda: half_open().send(".", 21, 5000).came("R", 5000),
        "LISTEN or SYN-RCVD",
    ),
    "after both FINs": (
        lambda: opened().send("F.", 21, 1).echoed(1, 20, "F.", 22).send(".", 22, 22),
        "LISTEN or OPEN",
    ),
    "after half a minute without an ACK": (lambda: half_open().at(30.0), "LISTEN or SYN-RCVD"),
    "after half a minute of peace": (
        lambda: opened().echoed(1, 20).send(".", 21, 21).at(30.0),
        "OPEN",
    ),
}


@pytest.mark.parametrize(("talk", "state"), STATES.values(), ids=STATES)
def test_states(talk: Callable[[], Conversation], state: str) -> None:
    it = talk()
    assert it.broken == []
    assert it.link.state == state


DEBTS: dict[str, tuple[Callable[[], Conversation], tuple[str, str] | None]] = {
    "nothing was sent": (new, None),
    "a SYN": (lambda: new().syn(size=20, options=GOOD), ("no-syn-ack", "ACC-2")),
    "a SYN with a spoilt cookie": (
        lambda: new().syn(size=20, options=(MSS, SPOILT)),
        ("no-syn-ack", "ACC-3"),
    ),
    "a SYN that may be dropped": (lambda: new().send("SF"), None),
    "a SYN to a closed port": (lambda: new(port="closed").syn(), ("no-rst", "ACC-12a")),
    "a closed port answered": (
        lambda: new(port="closed").syn().came("R.", 0x80000010, 1),
        None,
    ),
    "an ACK out of nowhere": (lambda: new().send(".", 1, 77), ("no-rst", "AFT-9")),
    "a RST out of nowhere": (lambda: new().send("R", 1), None),
    "half open": (half_open, None),
    "a wrong ACK": (lambda: half_open().send(".", 21, 5000), ("no-answer", "AFT-4")),
    "a wrong ACK answered": (lambda: half_open().send(".", 21, 5000).came("R", 5000), None),
    "data with the ACK": (
        lambda: half_open().send("P.", 21, 1, 10),
        ("no-ack", "AFT-1"),
    ),
    "data that was acknowledged": (
        lambda: opened(0).send("P.", 1, 1, 10).came(".", 1, 11),
        ("no-text", "ACC-5"),
    ),
    "the text of the SYN": (opened, ("no-text", "ACC-9")),
    "the text came, is not acknowledged": (lambda: opened().echoed(1, 20), None),
    "half of the text came": (
        lambda: opened().echoed(1, 10).send(".", 21, 11),
        ("no-text", "ACC-9"),
    ),
    "the window is closed": (lambda: half_open().send(".", 21, 1, window=0), None),
    "a copy of text closes the window, before any ACK of it": (
        lambda: opened(0).send("P.", 1, 1, 10).send("P.", 1, 1, 10, window=0).came(".", 1, 11),
        None,
    ),
    "a copy of text closes the window, after the ACK of what followed": (
        lambda: (
            opened(0)
            .send("P.", 1, 1, 10)
            .send("P.", 11, 1, 10)
            .came(".", 1, 21)
            .send("P.", 1, 1, 10, window=0)
            .came(".", 1, 21)
        ),
        ("no-text", "ACC-5"),
    ),
    "text beside an old ACK": (
        lambda: narrow().send("P.", 1001, 501, 10, window=500),
        ("no-ack", "AFT-7"),
    ),
    "text beside an ACK that is older than any window behind the SYN": (
        lambda: narrow().send("P.", 1001, 500, 10, window=500),
        None,
    ),
    "a FIN": (lambda: opened(0).send("F.", 1, 1), ("no-ack", "AFT-2")),
    "a FIN that was acknowledged": (
        lambda: opened(0).send("F.", 1, 1).came(".", 1, 2),
        ("no-fin", "AFT-2"),
    ),
    "both FINs": (lambda: opened(0).send("F.", 1, 1).came("F.", 1, 2), None),
    "data past a gap": (lambda: opened(0).send("P.", 11, 1, 10), None),
    "data past a gap that was filled": (
        lambda: opened().send("P.", 31, 1, 10).send("P.", 21, 1, 10),
        ("no-ack", "AFT-1"),
    ),
    "data past a gap that was dropped, which is no MUST": (
        lambda: opened().send("P.", 31, 1, 10).send("P.", 21, 1, 10).echoed(1, 30, ack=31),
        None,
    ),
    "data past a gap that was kept": (
        lambda: (
            opened()
            .send("P.", 31, 1, 10)
            .send("P.", 21, 1, 10)
            .echoed(1, 30, ack=41)
            .send(".", 41, 31)
        ),
        ("no-text", "AFT-1"),
    ),
    "data past a gap that was dropped, and sent again with what was before": (
        lambda: (
            opened()
            .send("P.", 31, 1, 10)
            .send("P.", 21, 1, 10)
            .echoed(1, 30, ack=31)
            .send("P.", 21, 31, 20)
        ),
        ("no-ack", "ACC-9"),
    ),
    "the same data again": (
        lambda: opened(0).send("P.", 1, 1, 9).echoed(1, 9, ack=10).send("P.", 1, 10, 9),
        ("no-answer", "ACC-9"),
    ),
    "an old SYN": (lambda: opened(0).syn(-500), ("no-answer", "DUP-2")),
    "a RST": (lambda: opened().send("R", 21), None),
    "an ACK after a RST with a damaged option": (
        lambda: half_open().send("R", 21, options=DAMAGED).send(".", 21, 1),
        None,
    ),
    "an ACK after RST": (
        lambda: half_open().send("R", 21).send(".", 21, 1),
        ("no-rst", "AFT-9"),
    ),
}


@pytest.mark.parametrize(("talk", "owed"), DEBTS.values(), ids=DEBTS)
def test_debts(talk: Callable[[], Conversation], owed: tuple[str, str] | None) -> None:
    assert talk().owed == owed


def test_an_old_timestamp_is_answered_and_changes_nothing() -> None:
    it = timed().came(".", 1, 21, options=TIMED)
    it.send("P.", 21, 1, 5, OLD)
    assert it.owed == ("no-answer", "AFT-6")
    it.came(".", 1, 21, options=TIMED)
    assert it.owed == ("no-text", "AFT-6")
    assert it.link.outbound.must.next == 21


def test_who_uses_no_paws_may_take_an_old_timestamp() -> None:
    """RFC 7323 section 5.3: "If the PAWS algorithm is used"."""
    it = Conversation(profile=Profile(fresh=True, paws=False)).syn(size=20, options=TS)
    it.answered(20, (MSS, Option("ts"))).send(".", 21, 1, options=TIMED)
    it.send("P.", 21, 1, 5, OLD)
    assert (it.link.outbound.must.next, it.link.outbound.may.next) == (21, 26)
    assert timed().send("P.", 21, 1, 5, OLD).link.outbound.may.next == 21


def at_the_clock(clock: int) -> Conversation:
    """A fast open whose client's TSval is so all the time, until old text comes."""
    it = Conversation()
    it.clock = clock
    it.syn(size=20, options=TS).came("S.", 0, 21, b"", (MSS, Option("ts")), echo=clock)
    return it.send(".", 21, 1, options=TIMED).send("P.", 21, 1, 5, OLD)


def test_a_last_timestamp_of_zero_may_stand_for_none() -> None:
    """As at Linux: docs/found/linux-old-times-after-zero.md."""
    it = at_the_clock(0)
    it.came(".", 1, 26, options=TIMED, echo=(1 << 32) + OLD[-1].value)
    assert it.broken == []
    it = at_the_clock(0).came(".", 1, 21, options=TIMED, echo=0)
    assert it.broken == []
    it = at_the_clock(1).came(".", 1, 26, options=TIMED, echo=1)
    assert it.broken == [("ack-beyond", "AFT-6")]


@pytest.mark.parametrize(("added", "oldest", "newest"), [(50, 1000, 1050), (-50, 950, 1000)])
def test_either_of_two_syns_may_set_the_time(added: int, oldest: int, newest: int) -> None:
    """The rules of RFC 7323 section 4.3 are for synchronized connections."""
    it = new().syn(options=TS).answered(0, (MSS, Option("ts")))
    it.syn(options=(*GOOD, Option("ts", added)))
    assert (it.link.times.must, it.link.times.may) == (oldest, newest)


def test_a_second_fin_may_be_taken_for_one() -> None:
    """The eighth step has RCV.NXT advance over any FIN; what is owed then is left open."""
    it = opened().send("F.", 21, 1).echoed(1, 20, "F.", 22)
    assert not it.link.vague
    assert not it.send("F.", 21, 1).link.vague
    assert it.send("F.", 22, 1).link.vague


def test_text_before_its_turn_may_use_up_the_answers() -> None:
    """Who sends one such ACK a second has sent it."""
    it = opened().echoed(1, 20).send(".", 21, 21)
    assert it.syn(-500).owed == ("no-answer", "DUP-2")
    it = opened().echoed(1, 20).send(".", 21, 21).send("P.", 30, 21, 5).came(".", 21, 21)
    assert it.syn(-500).owed is None


def timed_echo() -> Conversation:
    """The text of a SYN came back, on a connection with timestamps."""
    it = timed()
    return it.came("P.", 1, 21, text(it.link.index, 1, 20), TIMED)


OVERDUE: dict[str, tuple[Callable[[], Conversation], str | None]] = {
    "a SYN-ACK, soon": (lambda: half_open().at(3.0), None),
    "a SYN-ACK, late": (lambda: half_open().at(4.0), "no-repeat"),
    "a SYN-ACK that came again": (
        lambda: half_open().at(1.0).answered(taken=20).at(4.0),
        None,
    ),
    "text, late": (lambda: opened().echoed(1, 20).at(4.0), "no-repeat"),
    "text that was acknowledged": (
        lambda: opened().echoed(1, 20).send(".", 21, 21).at(9.0),
        None,
    ),
    "text whose ACK has an old timestamp": (
        lambda: timed_echo().send(".", 21, 21, options=OLD).at(9.0),
        "no-repeat",
    ),
    "text whose ACK has a new one": (
        lambda: timed_echo().send(".", 21, 21, options=TIMED).at(9.0),
        None,
    ),
    "a closed window, soon": (lambda: half_open().send(".", 21, 1, window=0).at(5.0), None),
    "a closed window, late": (
        lambda: half_open().send(".", 21, 1, window=0).at(7.0),
        "no-probe",
    ),
    "a closed window with nothing to send": (
        lambda: opened().echoed(1, 20).send(".", 21, 21, window=0).at(9.0),
        None,
    ),
    "a SYN-ACK to RST": (lambda: half_open().send("R", 21).at(9.0), None),
}


@pytest.mark.parametrize(("talk", "rule"), OVERDUE.values(), ids=OVERDUE)
def test_what_is_lost_comes_again(talk: Callable[[], Conversation], rule: str | None) -> None:
    assert talk().overdue == rule


def test_each_repetition_may_take_twice_as_long() -> None:
    it = half_open()
    for now in (1.0, 3.0, 7.0):
        it.at(now).answered(taken=20)
    assert it.at(7.0 + 20.0).overdue is None
    it = opened().echoed(1, 20).at(1.0).echoed(1, 20)
    assert it.at(1.0 + 6.0).overdue is None
    assert it.at(1.0 + 8.0).overdue == "no-repeat"


def test_what_cannot_be_known_is_not_judged() -> None:
    it = new().syn().syn(25, 20)
    it.link.vague = True
    assert it.came("P.", 70, 90, b"anything").broken == []
    assert (it.owed, it.overdue, it.link.state) == (None, None, "unsure")


def test_only_one_answer_is_counted_on() -> None:
    it = opened(0).send("P.", -500, 1, 5)
    assert it.owed == ("no-answer", "ACC-9")
    it.came(".", 1, 1)
    assert it.send("P.", -500, 1, 5).owed is None


def test_the_answer_to_an_ack_of_too_much_may_be_the_last() -> None:
    """What it acknowledges may have been sent, and lost: nobody knows whether it is answered."""
    for ack, owed in ((1, True), (11, False)):
        it = opened().send(".", 21, ack).send(".", 20, 1)
        assert (it.owed == ("no-answer", "ACC-9")) is owed


def test_a_second_life_has_numbers_of_its_own() -> None:
    it = half_open().send("R", 21)
    it.link.settled()
    it.syn(1000, 10, GOOD).answered(taken=10)
    assert it.broken == []
    assert (it.link.outbound.base, it.link.outbound.may.next, it.link.state) == (
        1000,
        1011,
        "SYN-RCVD",
    )
    assert it.send(".", 1011, 1).echoed(1, 10).broken == []


def test_numbers_that_wrap_are_numbers() -> None:
    it = Conversation(isn=0xFFFFFFFA).opened(20).echoed(1, 20).send("F.", 21, 21)
    assert it.echoed(21, 0, "F.", 22).broken == []
    assert Conversation(isn=0xFFFFFFFA).opened(20).echoed(1, 21).broken == [
        ("text-excess", "ACC-11")
    ]


def test_wrong_bytes_may_stand_where_both_were_sent() -> None:
    it = opened(0).send("P.", 1, 1, 10).send("P.", 6, 1, 10, wrong=True)
    assert it.link.outbound.odd_text == [(11, 16)]


def test_the_features_of_others_name_clauses_too() -> None:
    first, second = opened(), Conversation(index=1).opened()
    second.link.around = [first.link, second.link]
    first.send("R", 30)
    assert second.echoed(1, 21).broken == [("text-excess", "AFT-9")]


def test_refusals_at_a_full_listener_are_allowed() -> None:
    _, links = crowd(5)
    for each in links:
        each.syn(size=20, options=GOOD)
    assert [each.owed for each in links] == [("no-syn-ack", "LIM-1")] * 5
    for each in links[:4]:
        each.answered(taken=20)
    links[4].answered()
    assert [each.broken for each in links] == [[]] * 5


def test_a_syn_with_fin_may_be_dropped_in_silence_on_an_open_connection() -> None:
    assert opened(0).syn(-500).owed == ("no-answer", "DUP-2")
    assert opened(0).send("FS", -500, None, 0, (MSS,)).owed is None


@pytest.mark.parametrize(("ahead", "owed"), [(210, False), (121, True)])
def test_an_ack_of_text_that_has_not_come_yet_makes_another_one_old(ahead: int, owed: bool) -> None:
    """The window let that text out: SND.UNA less MAX.SND.WND may be above an ACK that looks new
    enough (RFC 5961 section 5.2)."""
    it = new().syn(size=20, options=GOOD).answered(taken=20).send(".", 21, 1, window=100)
    it.echoed(1, 20).send("P.", 21, 21, 500, window=100).came(".", 21, 521).echoed(21, 100)
    it.send(".", 521, 121, window=100).send(".", 521, ahead, window=100)
    it.send("P.", 521, 105, 10, window=100)
    assert (it.owed is not None) is owed
