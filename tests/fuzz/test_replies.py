"""Each rule of the model by two conversations: one that breaks it, and one that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scapy_tfo.fuzz.profile import Profile, Usual
from scapy_tfo.fuzz.program import Cookie, Option
from scapy_tfo.fuzz.text import wrong_text
from tests.fuzz.conversations import (
    ANOTHER,
    GOOD,
    GRANTED,
    MSS,
    REQUEST,
    SPOILT,
    Conversation,
    crowd,
    full_jar,
)

ASKS = (MSS, REQUEST)
OFFERS = (MSS, Option("ts"), Option("fo", cookie=Cookie()))
FRESH = bytes.fromhex("0102030405060708")
USUAL = Profile(fresh=True, options=Usual({4: 1460, 6: 1440}, 7, True, True))

Steps = Callable[[Conversation], Conversation]


def new(**more: Any) -> Conversation:
    return Conversation(**more)


def cookie(data: bytes, kind: int | None = None) -> tuple[Option, ...]:
    return (MSS, Option("fo", kind=kind, cookie=Cookie(data.hex())))


def half_open(size: int = 20, options: Sequence[Option] = GOOD) -> Conversation:
    return new().syn(size=size, options=options).answered(taken=size)


def opened(size: int = 20, options: Sequence[Option] = GOOD) -> Conversation:
    return new().opened(size, options)


SYN_ACKS: dict[str, tuple[Callable[[], Conversation], Steps, Steps, tuple[str, str]]] = {
    "acknowledges what was never sent": (
        lambda: new().syn(size=20, options=GOOD),
        lambda it: it.answered(taken=21),
        lambda it: it.answered(taken=20),
        ("syn-ack-number", "ACC-10"),
    ),
    "forgets the SYN": (
        lambda: new().syn(size=20),
        lambda it: it.answered(taken=-1),
        lambda it: it.answered(),
        ("syn-ack-number", "ACC-10"),
    ),
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
        lambda: new(profile=USUAL).syn(options=OFFERS),
        lambda it: it.answered(),
        lambda it: it.answered(options=(MSS, Option("ts"))),
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

SEGMENTS: dict[str, tuple[Callable[[], Conversation], Steps, Steps, tuple[str, str]]] = {
    "a wrong checksum": (
        lambda: half_open(),
        lambda it: it.came(".", 1, 21, sound=False),
        lambda it: it.came(".", 1, 21),
        ("unsound", "ACC-9"),
    ),
    "no ACK flag": (
        lambda: half_open(),
        lambda it: it.came("P", 1, 0),
        lambda it: it.came(".", 1, 21),
        ("unsound", "ACC-9"),
    ),
    "anything before the SYN-ACK": (
        lambda: new().syn(),
        lambda it: it.came(".", 1, 1),
        lambda it: it.answered(),
        ("unopened", "ACC-9"),
    ),
    "RST for a good SYN": (
        lambda: new().syn(size=20, options=GOOD),
        lambda it: it.came("R.", 0, 21),
        lambda it: it.answered(taken=20),
        ("syn-reset", "ACC-2"),
    ),
    "RST in the middle": (
        lambda: opened(),
        lambda it: it.came("R", 1),
        lambda it: it.came(".", 1, 21),
        ("reset", "ACC-9"),
    ),
    "RST from nowhere": (
        lambda: new(port="closed").syn(size=20),
        lambda it: it.came("R.", 0x80000010, 1),
        lambda it: it.came("R.", 0x80000010, 21),
        ("rst-numbers", "ACC-12a"),
    ),
    "RST with another number than our ACK": (
        lambda: half_open().send("R", 21).send(".", 21, 1),
        lambda it: it.came("R", 2),
        lambda it: it.came("R", 1),
        ("rst-numbers", "AFT-9"),
    ),
    "SYN-ACK of a closed port": (
        lambda: new(port="closed").syn(),
        lambda it: it.came("S.", 0, 1),
        lambda it: it.came("R.", 0x80000010, 1),
        ("closed", "ACC-12a"),
    ),
    "a life after RST": (
        lambda: half_open().send("R", 21).at(2.0),
        lambda it: it.answered(taken=20),
        lambda it: it,
        ("lives-on", "AFT-9"),
    ),
    "acknowledging text that is refused": (
        lambda: new().syn(size=20).answered(),
        lambda it: it.came(".", 1, 21),
        lambda it: it.came(".", 1, 1),
        ("ack-beyond", "ACC-4"),
    ),
    "acknowledging what was never sent": (
        lambda: opened(),
        lambda it: it.came(".", 1, 22),
        lambda it: it.came(".", 1, 21),
        ("ack-beyond", "ACC-10"),
    ),
    "acknowledging less than before": (
        lambda: opened(),
        lambda it: it.came(".", 1, 11),
        lambda it: it.came(".", 1, 21),
        ("ack-back", "ACC-9"),
    ),
    "a Fast Open option": (
        lambda: opened(),
        lambda it: it.came(".", 1, 21, options=(REQUEST,)),
        lambda it: it.came(".", 1, 21),
        ("option-on-segment", "SRV-8"),
    ),
    "SACK that was not agreed on": (
        lambda: opened(),
        lambda it: it.came(".", 1, 21, options=(Option("raw", kind=5, data=bytes(8)),)),
        lambda it: it.came(".", 1, 21),
        ("sack", "AFT-11"),
    ),
}

STREAMS: dict[str, tuple[Callable[[], Conversation], Steps, Steps, tuple[str, str]]] = {
    "before the handshake ends": (
        lambda: new().syn(size=20, options=(MSS, SPOILT)).answered(),
        lambda it: it.echoed(1, 1),
        lambda it: it.came(".", 1, 1),
        ("early-text", "SRV-2"),
    ),
    "at no place of the stream": (
        lambda: half_open(),
        lambda it: it.echoed(0, 5),
        lambda it: it.echoed(1, 5),
        ("text-place", "ACC-9"),
    ),
    "more than was taken": (
        lambda: half_open(),
        lambda it: it.echoed(1, 21),
        lambda it: it.echoed(1, 20),
        ("text-excess", "ACC-9"),
    ),
    "other bytes": (
        lambda: half_open(),
        lambda it: it.came("P.", 1, 21, wrong_text(0, 1, 20)),
        lambda it: it.echoed(1, 20),
        ("text-wrong", "ACC-9"),
    ),
    "bytes of another place": (
        lambda: opened().echoed(1, 10),
        lambda it: it.came("P.", 11, 21, wrong_text(0, 1, 5)),
        lambda it: it.echoed(11, 5),
        ("text-wrong", "ACC-9"),
    ),
    "over the window": (
        lambda: new().syn(size=20, options=GOOD, window=10).answered(taken=20),
        lambda it: it.echoed(1, 11),
        lambda it: it.echoed(1, 10),
        ("over-window", "AFT-7"),
    ),
    "over the segment size": (
        lambda: half_open(300, (Option("mss", 100), *GOOD[1:])),
        lambda it: it.echoed(1, 101),
        lambda it: it.echoed(1, 100),
        ("over-mss", "AFT-7b"),
    ),
    "FIN before ours": (
        lambda: opened(),
        lambda it: it.echoed(1, 20, "F."),
        lambda it: it.send("F.", 21, 1).echoed(1, 20, "F.", 22),
        ("fin-early", "AFT-2"),
    ),
    "FIN before the whole echo": (
        lambda: opened().send("F.", 21, 1),
        lambda it: it.echoed(1, 10, "F.", 22),
        lambda it: it.echoed(1, 10, "P.", 22).echoed(11, 10, "F.", 22),
        ("fin-early", "AFT-2"),
    ),
    "timestamps that were not agreed on": (
        lambda: opened(),
        lambda it: it.came(".", 1, 21, options=(Option("ts"),)),
        lambda it: it.came(".", 1, 21),
        ("timestamps", "OPT-9"),
    ),
    "no timestamps where they were": (
        lambda: new().syn(size=20, options=OFFERS).answered(20, (MSS, Option("ts"))),
        lambda it: it.came(".", 1, 21),
        lambda it: it.came(".", 1, 21, options=(Option("ts"),)),
        ("timestamps", "AFT-6"),
    ),
    "a clock that goes back": (
        lambda: new().syn(size=20, options=OFFERS).answered(20, (MSS, Option("ts"))),
        lambda it: it.came(".", 1, 21, options=(Option("ts"),), clock=4999),
        lambda it: it.came(".", 1, 21, options=(Option("ts"),), clock=5000),
        ("clock-back", "AFT-6"),
    ),
    "the echo of no time": (
        lambda: new().syn(size=20, options=OFFERS).answered(20, (MSS, Option("ts"))),
        lambda it: it.came(".", 1, 21, options=(Option("ts"),), echo=999),
        lambda it: it.came(".", 1, 21, options=(Option("ts"),)),
        ("echo-of-time", "AFT-6"),
    ),
}

Case = tuple[Callable[[], Conversation], Steps, Steps, tuple[str, str]]
ALL: dict[str, Case] = {
    f"{group}: {name}": case
    for group, cases in (("SYN-ACK", SYN_ACKS), ("segment", SEGMENTS), ("text", STREAMS))
    for name, case in cases.items()
}


@pytest.mark.parametrize(("begin", "wrong", "right", "broken"), ALL.values(), ids=ALL)
def test_what_breaks_a_rule_and_what_does_not(
    begin: Callable[[], Conversation], wrong: Steps, right: Steps, broken: tuple[str, str]
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


def test_a_violation_says_where_it_was_seen() -> None:
    it = half_open()
    it.link.step = 3
    (found,) = it.echoed(1, 21).link.violations
    assert (found.state, found.reply, found.flow, found.step) == ("SYN-RCVD", "text", 0, 3)
    assert found.signature == ("ACC-9", "SYN-RCVD", "text")
    assert found.expected == "20 bytes at most: what was taken, once"
    assert found.actual == "bytes up to 21"


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
