"""Right and wrong SYN-ACKs, in pairs that answer the same SYN."""

from __future__ import annotations

import pytest

from scapy_tfo.oracle.parts.profile import Profile, Usual
from scapy_tfo.oracle.parts.state import LISTEN, RCVD
from scapy_tfo.program.program import Option
from tests.oracle.conversations import (
    ANOTHER,
    ASKS,
    FRESH,
    GOOD,
    GRANTED,
    MSS,
    OFFERS,
    SPOILT,
    TIMED,
    Begin,
    Case,
    Conversation,
    Steps,
    cookie,
    crowd,
    full_jar,
    half_open,
    new,
    opened,
)

USUAL = Profile(
    fresh=True,
    options=Usual({4: frozenset({1460}), 6: frozenset({1440})}, 7, sack=True, times=True),
)

SYN_ACKS: dict[str, Case] = {
    "takes text beside no cookie": (
        lambda: new().syn(size=20),
        lambda it: it.answered(taken=20),
        lambda it: it.answered(),
        ("takes-text", "ACC-4"),
    ),
    "takes text beside a spoilt cookie": (
        lambda: new().syn(size=20, options=(MSS, SPOILT)),
        lambda it: it.answered(taken=20),
        lambda it: it.answered(),
        ("takes-text", "SRV-2"),
    ),
    "refuses the text of a good cookie": (
        lambda: new().syn(size=20, options=GOOD),
        lambda it: it.answered(),
        lambda it: it.answered(taken=20),
        ("refuses-text", "ACC-2"),
    ),
    "takes half of the text": (
        lambda: new().syn(size=20, options=GOOD),
        lambda it: it.answered(taken=10),
        lambda it: it.answered(taken=20),
        ("refuses-text", "ACC-10"),
    ),
    "grants no cookie": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(),
        lambda it: it.answered(options=cookie(FRESH)),
        ("grant", "SRV-9"),
    ),
    "grants unasked": (
        lambda: new().syn(),
        lambda it: it.answered(options=cookie(FRESH)),
        lambda it: it.answered(),
        ("grant", "ACC-4"),
    ),
    "answers kind 34 in another": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(options=cookie(FRESH, 254)),
        lambda it: it.answered(options=cookie(FRESH)),
        ("grant", "OPT-6"),
    ),
    "grants a cookie of odd size": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(options=cookie(FRESH[:7])),
        lambda it: it.answered(options=cookie(FRESH[:6])),
        ("grant", "OPT-2"),
    ),
    "grants nothing in an option": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(options=ASKS),
        lambda it: it.answered(options=cookie(FRESH)),
        ("grant", "SRV-9"),
    ),
    "grants twice": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(options=(*cookie(FRESH), *cookie(FRESH)[1:])),
        lambda it: it.answered(options=cookie(FRESH)),
        ("grant", "OPT-12"),
    ),
    "grants the cookie of another": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(options=cookie(ANOTHER)),
        lambda it: it.answered(options=cookie(GRANTED)),
        ("grant", "SRV-1"),
    ),
    "grants a cookie like another": (
        lambda: new().syn(options=ASKS),
        lambda it: it.answered(options=cookie(ANOTHER[:6] + b"\0\0")),
        lambda it: it.answered(options=cookie(FRESH)),
        ("grant", "SRV-2"),
    ),
    "has timestamps unasked": (
        lambda: new().syn(),
        lambda it: it.answered(options=(MSS, Option("ts"))),
        lambda it: it.answered(),
        ("syn-ack-options", "OPT-9"),
    ),
    "has a window scale unasked": (
        lambda: new().syn(),
        lambda it: it.answered(options=(MSS, Option("ws", 7))),
        lambda it: it.answered(),
        ("syn-ack-options", "OPT-9"),
    ),
    "has SACK unasked": (
        lambda: new().syn(),
        lambda it: it.answered(options=(MSS, Option("sackok"))),
        lambda it: it.answered(),
        ("syn-ack-options", "OPT-9"),
    ),
    "cannot be read": (
        lambda: new().syn(),
        lambda it: it.answered(options=(MSS, Option("raw", kind=99, length=1, data=b"ab"))),
        lambda it: it.answered(options=(MSS, Option("nop"))),
        ("syn-ack-options", "OPT-9"),
    ),
    "echoes no TSval of a SYN": (
        lambda: new().syn(options=OFFERS),
        lambda it: it.answered(options=(MSS, Option("ts")), echo=7),
        lambda it: it.answered(options=(MSS, Option("ts"))),
        ("syn-ack-options", "OPT-9"),
    ),
    "leaves out what it offers without fast open": (
        lambda: new(profile=USUAL).syn(options=(MSS, Option("ws", 7))),
        lambda it: it.answered(),
        lambda it: it.answered(options=(MSS, Option("ws", 7))),
        ("syn-ack-options", "OPT-9"),
    ),
    "carries text without right": (
        lambda: new().syn(size=20),
        lambda it: it.came("S.", 0, 1, b"early"),
        lambda it: it.answered(),
        ("early-text", "ACC-4"),
    ),
    "comes again with another ISS": (
        lambda: half_open(),
        lambda it: it.came("S.", 1, 21),
        lambda it: it.answered(taken=20),
        ("another-syn-ack", "ACC-8a"),
    ),
    "comes again and takes less": (
        lambda: half_open(),
        lambda it: it.answered(),
        lambda it: it.answered(taken=20),
        ("another-syn-ack", "ACC-8a"),
    ),
    "comes again and takes more": (
        lambda: new().syn(size=20).answered(),
        lambda it: it.answered(taken=20),
        lambda it: it.answered(),
        ("another-syn-ack", "ACC-3"),
    ),
    "comes again after the handshake": (
        lambda: opened().at(2.0),
        lambda it: it.answered(taken=20),
        lambda it: it.came(".", 1, 21),
        ("syn-ack-when-open", "AFT-11"),
    ),
    "comes again with text": (
        lambda: half_open(),
        lambda it: it.came("S.", 0, 21, b"more"),
        lambda it: it.answered(taken=20),
        ("repeated-text", "ACC-8"),
    ),
    "comes again with its option": (
        lambda: new().syn(options=ASKS).answered(options=cookie(FRESH)).at(1.0),
        lambda it: it.answered(options=cookie(FRESH)),
        lambda it: it.answered(),
        ("repeated-option", "ACC-8"),
    ),
    "is another with no SYN": (
        lambda: new().send(".", 1, 5),
        lambda it: it.came("S.", 0, 1),
        lambda it: it.came("R", 5 - 0x7FFFFFF0),
        ("unasked", "ACC-12"),
    ),
}


@pytest.mark.parametrize(("begin", "wrong", "right", "broken"), SYN_ACKS.values(), ids=SYN_ACKS)
def test_what_a_syn_ack_may_say(
    begin: Begin, wrong: Steps, right: Steps, broken: tuple[str, str]
) -> None:
    assert begin().broken == []
    assert wrong(begin()).broken[:1] == [broken]
    assert right(begin()).broken == []


def test_over_the_limit_text_is_refused() -> None:
    for taken, broken in ((20, [("takes-text", "LIM-1")]), (0, [])):
        _, links = crowd(5)
        for each in links[:4]:
            each.syn(size=20, options=GOOD).answered(taken=20)
        assert links[4].syn(size=20, options=GOOD).answered(taken=taken).broken == broken


def test_a_fresh_cookie_beside_a_refusal_must_work() -> None:
    jar = full_jar()
    first, second = Conversation(jar), Conversation(jar, index=1)
    second.link.around = first.link.around = [first.link, second.link]
    first.syn(size=20, options=(MSS, SPOILT)).answered(options=cookie(FRESH))
    refused = second.syn(size=20, options=GOOD).answered(options=cookie(GRANTED))
    assert refused.broken == [("refuses-text", "SRV-5")]


def test_a_cookie_is_good_at_every_port() -> None:
    refused = new(port="second").syn(size=20, options=GOOD).answered(options=cookie(FRESH))
    assert refused.broken == [("refuses-text", "SRV-3")]
    refused = new().syn(size=20, options=GOOD).answered(options=cookie(FRESH))
    assert refused.broken == [("refuses-text", "SRV-1")]


def test_a_repetition_with_other_text_is_another_syn() -> None:
    for size, clause in ((20, "DUP-1"), (0, "DUP-1"), (8, "DUP-6"), (30, "DUP-6")):
        it = half_open().syn(size=size, options=GOOD).answered(taken=19)
        assert it.broken == [("another-syn-ack", clause)]


def test_what_a_target_may_leave_out_of_a_syn_ack() -> None:
    timed = (MSS, Option("ts"))
    no_timestamps = new(profile=USUAL).syn(options=timed).answered()
    assert no_timestamps.broken == []
    unscaled = new(profile=USUAL).syn(options=(MSS, Option("ws", 0))).answered()
    assert unscaled.broken == []
    second = new(profile=USUAL).syn(options=timed).answered(options=timed)
    assert second.syn(options=(MSS,)).answered().broken == []
    second = new(profile=USUAL).syn(options=timed).answered(options=timed)
    assert second.syn(options=timed).answered().broken == [("syn-ack-options", "OPT-9")]


def test_a_packet_too_big_of_ours_lowers_the_mss() -> None:
    lower = (Option("mss", 1360),)
    assert new(profile=USUAL).syn().answered(options=lower).broken
    told = new(profile=USUAL)
    told.link.note("icmp")
    assert told.syn().answered(options=lower).broken == []


@pytest.mark.parametrize("size", [512, 1460])
def test_an_mtu_remembered_from_before_lowers_the_mss_for_one_client(size: int) -> None:
    """The first client was told 512 by the time that the profile was made, for minutes."""
    seen = Usual({4: frozenset({512})}, 7, sack=True, times=True)
    remembering = Profile(fresh=True, options=seen)
    it = new(profile=remembering).syn().answered(options=(Option("mss", size),))
    assert it.broken == []
    other = new(profile=remembering).syn().answered(options=(Option("mss", 1000),))
    assert other.broken == [("syn-ack-options", "OPT-9")]


@pytest.mark.parametrize("first", [True, False])
def test_where_two_syns_differ_in_timestamps_either_syn_ack_decides(first: bool) -> None:
    """RFC 7323 section 3.2 tells of one SYN: a SYN-ACK says for the SYN that it answers."""
    offered = [(*GOOD, Option("ts")), GOOD] if first else [GOOD, (*GOOD, Option("ts"))]

    def acked(*syns: tuple[Option, ...], second: bool) -> Conversation:
        it = new().syn(size=20, options=syns[0])
        it.answered(taken=20, options=(MSS, Option("ts")) if first else (MSS,))
        it.at(1.0).syn(size=20, options=syns[1])
        it.answered(taken=20, options=(MSS, Option("ts")) if second else (MSS,))
        return it.send(".", 21, 1, options=TIMED)

    for options in ((), TIMED):
        changed = acked(*offered, second=not first).came(".", 1, 21, b"", options)
        assert changed.broken == []
    with_them, without = (TIMED, ()) if first else ((), TIMED)
    for right in (acked(*offered, second=first), acked(offered[0], offered[0], second=first)):
        assert right.came(".", 1, 21, b"", with_them).broken == []
    for wrong in (acked(*offered, second=first), acked(offered[0], offered[0], second=first)):
        told = ("timestamps", "AFT-6" if first else "OPT-9")
        assert told in wrong.came(".", 1, 21, b"", without).broken


def test_where_two_syns_differ_in_timestamps_the_second_may_be_answered_alone() -> None:
    it = new().syn(size=20, options=GOOD).at(1.0).syn(size=20, options=(*GOOD, Option("ts")))
    it.answered(taken=20, options=(MSS, Option("ts"))).send(".", 21, 1, options=TIMED)
    assert it.came(".", 1, 21, b"", TIMED).broken == []


def test_a_syn_without_the_agreed_timestamps_may_be_dropped() -> None:
    """RFC 7323 section 3.2: on a connection with timestamps it is no sound segment."""
    timed = (*GOOD, Option("ts"))
    it = new().syn(size=20, options=timed).answered(taken=20, options=(MSS, Option("ts")))
    it.send(".", 21, 1, options=TIMED)
    it.syn(seq=-5000)
    assert not it.link.owed.answer


def test_a_syn_with_the_agreed_timestamps_must_be_answered() -> None:
    timed = (*GOOD, Option("ts"))
    it = new().syn(size=20, options=timed).answered(taken=20, options=(MSS, Option("ts")))
    it.send(".", 21, 1, options=TIMED)
    it.syn(seq=-5000, options=(MSS, Option("ts")))
    assert it.link.owed.answer


def test_another_syn_before_the_syn_ack_may_have_ended_the_handshake() -> None:
    """The SYN-ACK answers the first; the other one, in the window, came behind it (RFC 9293 section
    3.10.7.4, fourth). So a third SYN may begin a connection whose ISN is that of the first."""
    it = new().syn().syn(1).answered()
    assert it.link.states == LISTEN | RCVD
    it.syn(1).came("S.", 0, 2, b"", (MSS,))
    assert it.broken == []


def test_a_copy_of_the_syn_ends_no_handshake() -> None:
    assert new().syn().syn().answered().link.states == RCVD


@pytest.mark.parametrize("stateless", [True, False], ids=["SYN cookies", "a connection"])
@pytest.mark.parametrize(("seq", "clause"), [(0, "DUP-1"), (-21, "DUP-6")])
def test_each_syn_has_a_syn_cookie_of_its_own(stateless: bool, seq: int, clause: str) -> None:
    """RFC 4987 section 3.6: the number of a SYN-ACK holds what its SYN offered."""
    it = Conversation(profile=Profile(fresh=True, stateless=stateless))
    it.syn().answered().syn(seq, options=())
    it.came("S.", 1 << 24, seq + 1, options=(MSS,))
    assert it.broken == ([] if stateless else [("another-syn-ack", clause)])
