"""Each rule, by a packet that breaks it, and by one that nearly does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address

import pytest

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.conduct import RULES
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG
from tests.oracle.conduct.conversation import ISN, PERMITTED, Conversation, sack, scale
from tests.oracle.conduct.later_rules import MORE, SIX
from tests.oracle.conduct.odd_rules import ODD

Script = Callable[[Conversation], object]

MSS = opt.mss(1460)
NEED_AN_ORDER = ("ack-goes-back", "window-shrinks")
"""Rules that are judged by timestamps where the order is not known."""
TIMES = opt.timestamps(100, 0)
ANSWER = opt.timestamps(500, 100)


def opened(talk: Conversation, *more: opt.RawOption, **fields: object) -> None:
    """A handshake in which both ends send these options."""
    talk.handshake((MSS, *more), (MSS, *more), **fields)


def scaled(talk: Conversation) -> None:
    """A SYN whose later windows count twice, and its SYN-ACK."""
    talk.ours(SYN, options=(MSS, scale(1)), window=10)
    talk.theirs(SYN | ACK, options=(MSS, scale(1)))


def timed(talk: Conversation) -> None:
    talk.handshake((MSS, TIMES), (MSS, ANSWER))


def _close(talk: Conversation, at: int) -> None:
    opened(talk)
    talk.theirs(ACK | PSH, b"abc")
    talk.theirs(FIN | ACK, seq=4)
    talk.theirs(FIN | ACK, seq=at)


def _copies(talk: Conversation, gaps: Iterable[float]) -> None:
    opened(talk)
    for gap in (0.0, *gaps):
        talk.now += gap
        talk.theirs(ACK | PSH, b"abc")


def _syn_acks(talk: Conversation, gaps: Iterable[float]) -> None:
    talk.ours(SYN)
    for gap in (0.0, *gaps):
        talk.now += gap
        talk.theirs(SYN | ACK)


def _timed_out(talk: Conversation, seq: int) -> None:
    """Three segments of three bytes, and one of them again."""
    opened(talk)
    texts = {1: b"abc", 4: b"def", 7: b"ghi"}
    for start, text in texts.items():
        talk.theirs(ACK, text, seq=start)
    talk.now += 1.0
    talk.theirs(ACK, texts[seq], seq=seq)


def _blocks(talk: Conversation, *pairs: tuple[int, int]) -> None:
    """Segments at 11 and 31 came, in this order, each of ten bytes; the report of the second."""
    opened(talk, PERMITTED)
    for start in (11, 31):
        talk.ours(ACK, b"x" * 10, seq=start)
    talk.theirs(options=(sack(*pairs),))


def test_a_duplicate_report_of_text_below_the_first_number_is_of_something() -> None:
    talk = Conversation()
    opened(talk, PERMITTED)
    talk.ours(ACK, b"x" * 10, seq=-100)
    talk.theirs(options=(sack((-100, -90)),))
    assert "block-of-nothing" not in talk.broken


def _reports(talk: Conversation, *second: tuple[int, int]) -> None:
    """Each of two segments behind a gap is answered; the blocks of the second answer."""
    opened(talk, PERMITTED)
    talk.ours(ACK, b"x" * 10, seq=11)
    talk.theirs(options=(sack((11, 21)),))
    talk.ours(ACK, b"x" * 10, seq=31)
    talk.theirs(options=(sack(*second),))


def _two(talk: Conversation, iss: int) -> None:
    """Two connections between the same ends."""
    for number, theirs in enumerate((7_000, iss)):
        talk.begin("same")
        talk.ours(SYN, isn=ISN + number)
        talk.theirs(SYN | ACK, isn=ISN + number, iss=theirs)


def _five(talk: Conversation, last: int) -> None:
    for number, theirs in enumerate((7_000, 7_000, 7_000, 7_000, last)):
        talk.now += 0.01
        talk.begin(f"port {number}")
        talk.ours(SYN)
        talk.theirs(SYN | ACK, iss=theirs)


def _mirror(talk: Conversation, count: int) -> None:
    for number in range(count):
        talk.begin(f"port {number}")
        talk.ours(SYN, isn=1_000 * number)
        talk.theirs(SYN | ACK, isn=1_000 * number, iss=1_000 * number + 5)


def _again(talk: Conversation, *options: opt.RawOption, iss: int = 7_000) -> None:
    talk.ours(SYN, options=(MSS, scale(7)))
    talk.theirs(SYN | ACK, options=(MSS, scale(7)))
    talk.now += 0.5
    talk.theirs(SYN | ACK, options=options or (MSS, scale(7)), iss=iss)


def both(*steps: Script) -> Script:
    """One after another."""

    def run(talk: Conversation) -> None:
        for step in steps:
            step(talk)

    return run


def syn(**fields: object) -> Script:
    return lambda talk: talk.ours(SYN, **fields)


def ours(*given: object, **fields: object) -> Script:
    return lambda talk: talk.ours(*given, **fields)


def theirs(*given: object, **fields: object) -> Script:
    return lambda talk: talk.theirs(*given, **fields)


def _labels(talk: Conversation, label: int) -> None:
    opened(talk)
    talk.theirs(ACK | PSH, b"abc", flow_label=5)
    talk.theirs(ACK | PSH, b"def", seq=4, flow_label=label)


TABLE: dict[str, tuple[Script, Script]] = {
    **MORE,
    **ODD,
    # rule: what breaks it, what nearly does.
    "flags-together": (both(opened, theirs(RST | FIN)), both(opened, theirs(FIN | ACK))),
    "no-ack-flag": (both(opened, theirs(PSH, b"x")), both(opened, theirs(ACK | PSH, b"x"))),
    "bare-syn": (both(syn(), theirs(SYN)), both(syn(), theirs(SYN | ACK))),
    "syn-ack-unasked": (theirs(SYN | ACK), both(syn(), theirs(SYN | ACK))),
    "reserved-bits": (
        both(opened, theirs(reserved=4)),
        both(opened, theirs(reserved=0)),
    ),
    "data-offset": (both(opened, theirs(data_offset=3)), both(opened, theirs())),
    "urgent-pointer": (
        both(opened, theirs(ACK | URG, b"x", urgent=0)),
        both(opened, theirs(ACK | URG, b"x", urgent=1)),
    ),
    "options-unsound": (
        both(opened, theirs(options=b"\x08\x0a\x00\x00")),
        both(opened, theirs(options=b"\x01\x01\x01\x01")),
    ),
    "padding": (
        both(syn(), theirs(SYN | ACK, options=b"\x00\x00\x00\x07")),
        both(syn(), theirs(SYN | ACK, options=b"\x01\x00\x00\x00")),
    ),
    "option-twice": (
        both(syn(), theirs(SYN | ACK, options=(MSS, opt.mss(1000)))),
        both(syn(), theirs(SYN | ACK, options=(MSS, MSS))),
    ),
    "syn-option-elsewhere": (both(opened, theirs(options=(MSS,))), opened),
    "hop-limit": (both(opened, theirs(hop_limit=1)), both(opened, theirs(hop_limit=2))),
    "flow-label": (lambda talk: _labels(talk, 6), lambda talk: _labels(talk, 5)),
    "number-of-syn-ack": (
        both(syn(data=b"abc"), theirs(SYN | ACK, ack=5)),
        both(syn(data=b"abc"), theirs(SYN | ACK, ack=4)),
    ),
    "scale-unasked": (
        both(syn(options=(MSS,)), theirs(SYN | ACK, options=(scale(0),))),
        both(syn(options=(MSS, scale(2))), theirs(SYN | ACK, options=(scale(0),))),
    ),
    "scale-too-large": (
        both(syn(options=(scale(2),)), theirs(SYN | ACK, options=(scale(15),))),
        both(syn(options=(scale(2),)), theirs(SYN | ACK, options=(scale(14),))),
    ),
    "times-unasked": (
        both(syn(), theirs(SYN | ACK, options=(ANSWER,))),
        both(syn(options=(TIMES,)), theirs(SYN | ACK, options=(ANSWER,))),
    ),
    "times-of-the-syn": (
        both(syn(options=(TIMES,)), theirs(SYN | ACK, options=(opt.timestamps(500, 99),))),
        both(syn(options=(TIMES,)), theirs(SYN | ACK, options=(ANSWER,))),
    ),
    "sack-unasked": (
        both(syn(options=(MSS,)), theirs(SYN | ACK, options=(PERMITTED,))),
        both(syn(options=(PERMITTED,)), theirs(SYN | ACK, options=(PERMITTED,))),
    ),
    "fast-open-elsewhere": (both(opened, theirs(options=(opt.fast_open(b"12345678"),))), opened),
    "from-many": (both(opened, theirs(src=ip_address("224.0.0.1"))), opened),
    "mark-without-text": (
        both(ours(SYN | ECE | CWR), theirs(SYN | ACK | ECE), ours(), theirs(traffic_class=2)),
        both(
            ours(SYN | ECE | CWR),
            theirs(SYN | ACK | ECE),
            ours(),
            theirs(ACK, b"x", traffic_class=2),
        ),
    ),
    "iss-of-the-peer": (lambda talk: _mirror(talk, 5), lambda talk: _mirror(talk, 4)),
    "ecn-unasked": (both(syn(), theirs(SYN | ACK | ECE)), both(syn(), theirs(SYN | ACK))),
    "ecn-reflected": (
        both(ours(SYN | ECE | CWR), theirs(SYN | ACK | ECE | CWR)),
        both(ours(SYN | ECE | CWR), theirs(SYN | ACK | ECE)),
    ),
    "another-iss": (lambda talk: _again(talk, iss=7_001), _again),
    "another-offer": (lambda talk: _again(talk, MSS), _again),
    "cookie-unasked": (
        both(syn(), theirs(SYN | ACK, options=(opt.fast_open(b"12345678"),))),
        both(
            syn(options=(opt.fast_open(b""),)),
            theirs(SYN | ACK, options=(opt.fast_open(b"12345678"),)),
        ),
    ),
    "cookie-broken": (
        both(
            syn(options=(opt.fast_open(b""),)), theirs(SYN | ACK, options=(opt.fast_open(b"123"),))
        ),
        both(
            syn(options=(opt.fast_open(b""),)),
            theirs(SYN | ACK, options=(opt.fast_open(b"1234"),)),
        ),
    ),
    "text-changes": (
        both(opened, theirs(ACK, b"abc"), theirs(ACK, b"xc", seq=2)),
        both(opened, theirs(ACK, b"abc"), theirs(ACK, b"bcd", seq=2)),
    ),
    "text-behind-fin": (
        both(opened, theirs(FIN | ACK), theirs(ACK | PSH, b"x", seq=2)),
        lambda talk: _close(talk, 4),
    ),
    "fin-moves": (lambda talk: _close(talk, 3), lambda talk: _close(talk, 4)),
    "over-the-window": (
        both(scaled, ours(window=10), theirs(ACK, b"x" * 22)),
        both(scaled, ours(window=10), theirs(ACK, b"x" * 21)),
    ),
    "over-the-mss": (
        both(opened, theirs(ACK, b"x" * 1461)),
        both(opened, theirs(ACK, b"x" * 1460)),
    ),
    "number-before-iss": (both(opened, theirs(seq=-2)), both(opened, theirs(seq=0))),
    "number-beyond-text": (
        both(timed, theirs(seq=200_000, options=(opt.timestamps(501, 101),))),
        # What the window allows may have been sent, and lost.
        both(timed, theirs(seq=60_000, options=(opt.timestamps(501, 101),))),
    ),
    "text-leaves-a-gap": (
        both(opened, theirs(ACK, b"abc"), theirs(ACK, b"xyz", seq=5)),
        both(opened, theirs(ACK, b"abc"), theirs(ACK, b"xyz", seq=4)),
    ),
    "initial-window": (
        both(opened, *(theirs(ACK, b"x" * 1460, seq=1 + 1460 * n) for n in range(11))),
        both(opened, *(theirs(ACK, b"x" * 1460, seq=1 + 1460 * n) for n in range(10))),
    ),
    "ack-of-nothing": (both(opened, theirs(ack=2)), both(opened, theirs(ack=1))),
    "ack-of-a-gap": (
        both(opened, ours(ACK, b"xyz", seq=4), theirs(ack=7)),
        both(opened, ours(ACK, b"xyz", seq=4), ours(ACK, b"abc"), theirs(ack=7)),
    ),
    "ack-before-isn": (both(opened, theirs(ack=0)), both(opened, theirs(ack=1))),
    "ack-goes-back": (
        both(opened, ours(ACK, b"xyz"), theirs(ACK, b"a", ack=4), theirs(ACK, b"b", seq=2, ack=1)),
        # An older one that was overtaken.
        both(opened, ours(ACK, b"xyz"), theirs(ACK, b"a", ack=4), theirs(ack=1)),
    ),
    "window-shrinks": (
        both(opened, theirs(ACK, b"a", window=900), theirs(ACK, b"b", seq=2, window=800)),
        both(
            opened,
            theirs(ACK, b"a", window=900),
            ours(ACK, b"x" * 100),
            theirs(ACK, b"b", seq=2, ack=101, window=800),
        ),
    ),
    "times-missing": (
        both(timed, theirs()),
        both(timed, theirs(options=(opt.timestamps(501, 101),))),
    ),
    "times-not-agreed": (
        both(opened, theirs(options=(ANSWER,))),
        both(timed, theirs(options=(ANSWER,))),
    ),
    "echo-of-nothing": (
        both(timed, theirs(options=(opt.timestamps(501, 102),))),
        both(timed, theirs(options=(opt.timestamps(501, 101),))),
    ),
    "clock-goes-back": (
        both(timed, theirs(ACK, b"x", options=(opt.timestamps(499, 101),))),
        both(timed, theirs(ACK, b"x", options=(opt.timestamps(500, 101),))),
    ),
    "sack-not-agreed": (
        both(opened, ours(ACK, b"x", seq=4), theirs(options=(sack((4, 5)),))),
        lambda talk: _blocks(talk, (31, 41), (11, 21)),
    ),
    "sack-size": (
        both(opened, theirs(options=(opt.RawOption(opt.SACK, 8, b"\0" * 6),))),
        lambda talk: _blocks(talk, (31, 41), (11, 21)),
    ),
    "block-of-nothing": (
        lambda talk: _blocks(talk, (31, 42), (11, 21)),
        lambda talk: _blocks(talk, (31, 41), (11, 21)),
    ),
    "blocks-touch": (
        lambda talk: _blocks(talk, (31, 41), (1, 10)),
        # A duplicate is reported first (RFC 2883).
        lambda talk: _blocks(talk, (31, 41), (11, 21)),
    ),
    "first-block-is-old": (
        lambda talk: _reports(talk, (11, 21), (31, 41)),
        lambda talk: _reports(talk, (31, 41), (11, 21)),
    ),
    "rst-to-nothing": (theirs(RST), both(ours(ACK), theirs(RST))),
    "rst-to-rst": (both(ours(RST), theirs(RST)), both(ours(RST), ours(ACK), theirs(RST))),
    "rst-number": (
        both(opened, theirs(RST, seq=900_000)),
        both(opened, ours(ACK, ack=900_000), theirs(RST, seq=900_000)),
    ),
    "rst-acknowledges": (
        both(syn(data=b"abc"), theirs(RST | ACK, iss=0, seq=0, ack=5)),
        both(syn(data=b"abc"), theirs(RST | ACK, iss=0, seq=0, ack=4)),
    ),
    "syn-ack-marked": (
        both(syn(), theirs(SYN | ACK, traffic_class=2)),
        both(syn(), theirs(SYN | ACK, traffic_class=3)),
    ),
    "mark-not-agreed": (
        both(opened, theirs(traffic_class=2)),
        both(opened, theirs(traffic_class=3)),
    ),
    "ecn-flags-not-agreed": (both(opened, theirs(ACK | ECE)), both(opened, theirs(ACK))),
    "ece-without-ce": (
        both(ours(SYN | ECE | CWR), theirs(SYN | ACK | ECE), ours(), theirs(ACK | ECE)),
        both(
            ours(SYN | ECE | CWR), theirs(SYN | ACK | ECE), ours(traffic_class=3), theirs(ACK | ECE)
        ),
    ),
    "no-backoff": (
        lambda talk: _copies(talk, (1.0, 1.0, 1.0)),
        lambda talk: _copies(talk, (1.0, 2.0, 4.0)),
    ),
    "no-syn-ack-backoff": (
        lambda talk: _syn_acks(talk, (2.0, 2.0, 2.0)),
        lambda talk: _syn_acks(talk, (1.0, 2.0, 4.0)),
    ),
    "syn-ack-too-soon": (
        lambda talk: _syn_acks(talk, (0.4,)),
        lambda talk: _syn_acks(talk, (1.0, 0.0)),
    ),
    "timer-skips-text": (lambda talk: _timed_out(talk, 4), lambda talk: _timed_out(talk, 1)),
    "iss-constant": (lambda talk: _five(talk, 7_000), lambda talk: _five(talk, 7_001)),
    "iss-repeats": (lambda talk: _two(talk, 7_000), lambda talk: _two(talk, 7_001)),
}


def conversation(rule: str, *, order: bool = False) -> Conversation:
    ordered = next(each.ordered for each in RULES if each.name == rule) or order
    ordered = ordered or rule in MORE or rule in ODD or rule in ("flow-label", "id-repeated")
    return Conversation(version=6 if rule in SIX else 4, ordered=ordered)


@pytest.mark.parametrize("rule", [each.name for each in RULES])
def test_a_packet_that_breaks_it(rule: str) -> None:
    talk = conversation(rule, order=rule in NEED_AN_ORDER)
    TABLE[rule][0](talk)
    talk.end()
    assert rule in talk.broken


@pytest.mark.parametrize("rule", [each.name for each in RULES])
def test_a_packet_that_nearly_does(rule: str) -> None:
    talk = conversation(rule)
    TABLE[rule][1](talk)
    talk.end()
    assert talk.broken == []
