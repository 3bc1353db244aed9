"""Each rule about segments after the SYN, with two conversations: one breaks it, one does not."""

from __future__ import annotations

import pytest

from scapy_tfo.program.payload import wrong_text
from scapy_tfo.program.program import Option
from tests.oracle.conversations import (
    GOOD,
    MSS,
    OFFERS,
    SPOILT,
    Begin,
    Case,
    Steps,
    half_open,
    new,
    opened,
)

SEGMENTS: dict[str, Case] = {
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
}

STREAMS: dict[str, Case] = {
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
    "over the window of an old segment": (
        lambda: (
            new()
            .syn(size=100, options=GOOD, window=10)
            .answered(taken=100)
            .send(".", 101, 1, size=2, window=10)
            .came(".", 1, 103)
            .send(".", 101, 1, size=2, window=50)
        ),
        lambda it: it.echoed(1, 51),
        lambda it: it.echoed(1, 50),
        ("over-window", "AFT-7"),
    ),
    "over the window that an old segment leaves as it is": (
        lambda: (
            new()
            .syn(size=100, options=GOOD, window=10)
            .answered(taken=100)
            .send(".", 101, 1, window=50)
            .echoed(1, 50)
            .send(".", 50, 51, size=60, window=1)
            .came(".", 51, 110)
        ),
        lambda it: it.echoed(51, 51),
        lambda it: it.echoed(51, 50),
        ("over-window", "AFT-7"),
    ),
    "over a closed window, before a timeout": (
        lambda: new().syn(size=20, options=GOOD, window=10).answered(taken=20),
        lambda it: it.send(".", 21, 1, window=0).at(0.15).echoed(1, 20),
        lambda it: it.send(".", 21, 1, window=0).at(0.2).echoed(1, 20),
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

ALL: dict[str, Case] = {
    f"{group}: {name}": case
    for group, cases in (("segment", SEGMENTS), ("text", STREAMS))
    for name, case in cases.items()
}


@pytest.mark.parametrize(("begin", "wrong", "right", "broken"), ALL.values(), ids=ALL)
def test_what_breaks_a_rule_and_what_does_not(
    begin: Begin, wrong: Steps, right: Steps, broken: tuple[str, str]
) -> None:
    assert begin().broken == []
    assert wrong(begin()).broken[:1] == [broken]
    assert right(begin()).broken == []


def test_a_violation_says_where_it_was_seen() -> None:
    it = half_open()
    it.link.evidence.step = 3
    (found,) = it.echoed(1, 21).link.evidence.violations
    assert (found.state, found.reply, found.flow, found.step) == ("SYN-RCVD", "text", 0, 3)
    assert found.signature == ("ACC-9", "SYN-RCVD", "text", "")
    assert found.expected == "20 bytes at most: what was taken, once"
    assert found.actual == "bytes up to 21"


def test_a_rst_for_a_syn_that_our_rst_overtook() -> None:
    it = half_open().send("S", 20, size=1).send("R", 21).send(".", 21, 1)
    assert it.came("R.", 0x80000010, 22).came("R", 1).broken == []


@pytest.mark.parametrize(("letters", "may"), [("S", False), ("SE", True), ("SW", True)])
def test_a_server_may_answer_bits_for_ecn_with_accurate_ecn(letters: str, may: bool) -> None:
    """In any combination but that of classic ECN, and a client cannot tell which a target knows
    (RFC 9768 section 3.1.3)."""
    it = new().send(letters, 0, None, 0, (MSS,)).came("S.", 0, 1, options=(MSS,), accurate=True)
    assert bool(it.broken) is not may


def test_an_ack_before_the_syn_ack_breaks_no_agreement_on_timestamps() -> None:
    """Whether they are agreed on is told by the SYN-ACK, which may come behind it."""
    it = new().syn(options=(MSS, Option("ts"))).came(".", 0, 1, options=(Option("ts"),))
    assert [rule for rule, _ in it.broken] == ["unopened"]
