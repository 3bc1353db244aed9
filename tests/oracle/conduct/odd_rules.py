"""Conversations that break the rules on odd and on first segments, and some that nearly do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG
from tests.oracle.conduct.conversation import Conversation, scale

Script = Callable[[Conversation], object]

MSS = opt.mss(1460)
STRANGE = opt.RawOption(200, 4, b"??")
FAR = (1 << 30) + 5
AHEAD = 1 << 24


def opened(talk: Conversation, *more: opt.RawOption) -> None:
    """A handshake, and three bytes of the server's, which are acknowledged."""
    talk.handshake((MSS, *more), (MSS, *more))
    talk.theirs(ACK | PSH, b"abc")
    talk.ours(ack=4)


def odd(talk: Conversation, taken: int, **fields: Any) -> None:
    """Text that is odd, and the server's ACK."""
    opened(talk)
    talk.ours(fields.pop("flags", ACK | PSH), b"12345", **{"ack": 4} | fields)
    talk.theirs(seq=4, ack=taken)
    talk.rest(2.0)


def minds(**fields: Any) -> tuple[Script, Script]:
    """Odd text is dropped, and taken."""
    return lambda talk: odd(talk, 1, **fields), lambda talk: odd(talk, 6, **fields)


def takes(**fields: Any) -> tuple[Script, Script]:
    """Doubtful text is taken, and dropped."""
    return lambda talk: odd(talk, 6, **fields), lambda talk: odd(talk, 1, **fields)


def waits(talk: Conversation, *, answered: bool, old: bool = False) -> None:
    """A keep-alive, or old text."""
    opened(talk)
    if old:
        talk.ours(ACK | PSH, b"12345", ack=4)
        talk.theirs(seq=4, ack=6)
        talk.ours(ACK | PSH, b"12345", ack=4)
    else:
        talk.ours(seq=0, ack=4)
    if answered:
        talk.theirs(seq=4, ack=6 if old else 1)
    talk.rest(2.0)


def ahead(talk: Conversation, *, answered: bool, rst: bool = False) -> None:
    """Text acknowledges too much, or a RST is in the window, and not at its beginning."""
    opened(talk)
    if rst:
        talk.ours(RST, seq=9)
    else:
        talk.ours(ACK | PSH, b"12345", ack=AHEAD)
    if answered:
        talk.theirs(seq=4)
    talk.rest(2.0)


def challenged(talk: Conversation, answer: int) -> None:
    """A RST in the window is challenged, and text comes later; the flags of the answer."""
    opened(talk)
    talk.rest(1.0)
    talk.ours(RST, seq=9)
    talk.theirs(seq=4)
    talk.ours(ACK | PSH, b"12345", ack=4)
    talk.theirs(answer, seq=4, ack=6)


def half_open(talk: Conversation, flags: int | None, ack: int = 1) -> None:
    """Before the handshake's end text comes with a wrong ACK."""
    talk.ours(SYN, options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours(ACK | PSH, b"12345", ack=AHEAD)
    if flags is not None:
        talk.theirs(flags, seq=1 if flags & ACK else AHEAD, ack=ack)
    talk.rest(2.0)


def reset(talk: Conversation, answer: int) -> None:
    """A RST with the next number has FIN, and text comes later; the flags of the answer."""
    talk.handshake((MSS,), (MSS,))
    talk.theirs(ACK | PSH, b"x" * 100)
    talk.ours(RST | FIN, ack=101)
    talk.rest(1.0)
    talk.ours(ACK | PSH, b"more", ack=101)
    talk.theirs(answer, seq=101)


def closed_window(talk: Conversation, flags: int) -> None:
    """The same where the window is closed."""
    talk.handshake((MSS,), (MSS,))
    talk.theirs(window=0)
    talk.ours(RST)
    talk.rest(1.0)
    talk.ours(ACK | PSH, b"more" * 10, seq=40)
    talk.theirs(flags, seq=1)


def old_times(talk: Conversation, flags: int) -> None:
    """The same where the timestamp is old."""
    first, answer = opt.timestamps(100, 0), opt.timestamps(500, 100)
    talk.handshake((MSS, first), (MSS, answer))
    talk.theirs(ACK | PSH, b"x" * 100, options=(opt.timestamps(501, 101),))
    talk.ours(RST, options=(opt.timestamps(50, 501),))
    talk.rest(1.0)
    talk.ours(ACK | PSH, b"more", ack=101, options=(opt.timestamps(103, 501),))
    talk.theirs(flags, seq=101, options=(opt.timestamps(2000, 101),))


def half_reset(talk: Conversation, *, again: bool) -> None:
    talk.ours(SYN)
    talk.theirs(SYN | ACK)
    talk.ours(RST)
    talk.rest(1.0)
    talk.theirs(*((SYN | ACK,) if again else (RST,)))


def far_reset(talk: Conversation, flags: int) -> None:
    opened(talk)
    talk.ours(RST, seq=FAR)
    talk.ours(ACK | PSH, b"more", ack=4)
    talk.theirs(flags, seq=4, ack=5)


def refused(talk: Conversation, seq: int) -> None:
    """An ACK of no connection is answered with a RST."""
    talk.ours(ACK, ack=77)
    talk.theirs(RST, seq=seq, iss=7_000)


def again(talk: Conversation, flags: int) -> None:
    """Behind text that is acknowledged, a second later."""
    opened(talk)
    talk.ours(ACK | PSH, b"12345", ack=4)
    talk.theirs(seq=4, ack=6)
    talk.rest(1.0)
    talk.ours(ACK | PSH, b"6", seq=6, ack=4)
    talk.theirs(flags, seq=0 if flags & SYN else 4, ack=7)


def syn_acks(talk: Conversation, ack: int) -> None:
    """A SYN with text, whose SYN-ACK comes again by its timer."""
    talk.ours(SYN, b"12345", options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.rest(1.0)
    talk.theirs(SYN | ACK, ack=ack, options=(MSS,))


def syns(talk: Conversation, *, answered: bool) -> None:
    """The SYN of a connection that is half open comes again."""
    talk.ours(SYN)
    talk.theirs(SYN | ACK)
    talk.rest(1.0)
    talk.ours(SYN)
    if answered:
        talk.theirs(SYN | ACK)
    talk.rest(4.0)


def sizes(talk: Conversation, *texts: int) -> None:
    """The SYN has no MSS; texts of these sizes."""
    talk.handshake((), (MSS,))
    at = 1
    for size in texts:
        talk.theirs(ACK, b"x" * size, seq=at)
        at += size


def small(talk: Conversation, size: int, *offered: opt.RawOption, syn: bool) -> None:
    """A window of a hundred bytes, and text, before or after the handshake's end."""
    talk.ours(SYN, options=(MSS, *offered), window=100)
    talk.theirs(SYN | ACK, options=(MSS, *offered))
    if not syn:
        talk.ours(window=100)
    talk.theirs(ACK, b"x" * size)


def far_away(talk: Conversation) -> None:
    """A handshake that takes half a second, and three bytes of the server's."""
    talk.ours(SYN, options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.rest(0.5)
    talk.ours()
    talk.theirs(ACK | PSH, b"abc")


def slow(talk: Conversation, gap: float) -> None:
    """The handshake takes half a second; text comes again after so long."""
    far_away(talk)
    talk.rest(gap)
    talk.theirs(ACK | PSH, b"abc")


def two_flights(talk: Conversation, gap: float) -> None:
    """Text behind text that is acknowledged meanwhile comes again after so long."""
    far_away(talk)
    talk.rest(1.4)
    talk.theirs(ACK | PSH, b"def", seq=4)
    talk.ours(ack=4)
    talk.rest(gap)
    talk.theirs(ACK | PSH, b"def", seq=4)


def from_afar(talk: Conversation, text: bytes) -> None:
    """The ACK of the SYN-ACK has a number that is far away."""
    talk.ours(SYN, options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours(seq=FAR)
    talk.theirs(ACK, text)


def taken_back(talk: Conversation, *more: bytes) -> None:
    """The window shrinks from a hundred bytes to three while as many are under way."""
    talk.ours(SYN, options=(MSS,), window=100)
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours(window=100)
    talk.theirs(ACK | PSH, b"abc")
    talk.theirs(ACK | PSH, b"def", seq=4)
    talk.ours(ack=4, window=3)
    talk.rest(0.2)
    talk.ours(ack=7, window=3)
    for number, text in enumerate(more):
        talk.theirs(ACK | PSH, text, seq=7 + 3 * number)


def numbers(talk: Conversation, seq: int) -> None:
    """An ACK, long after text was acknowledged."""
    opened(talk)
    talk.rest(1.0)
    talk.ours(ACK | PSH, b"12345", ack=4)
    talk.theirs(seq=seq, ack=6)


def asked(talk: Conversation, seq: int) -> None:
    """An ACK while text is under way."""
    opened(talk)
    talk.theirs(ACK | PSH, b"def", seq=4)
    talk.rest(0.4)
    talk.ours(ACK | PSH, b"12345", ack=4)
    talk.theirs(seq=seq, ack=6)


def closing(talk: Conversation, *, answered: bool) -> None:
    opened(talk)
    talk.ours(FIN | ACK, ack=4)
    talk.theirs(seq=4, ack=2)
    if answered:
        talk.theirs(FIN | ACK, seq=4, ack=2)
        talk.ours(seq=2, ack=5)
    talk.rest(6.0)


def behind(talk: Conversation, ack: int) -> None:
    """Text follows a FIN that was taken."""
    opened(talk)
    talk.ours(FIN | ACK, ack=4)
    talk.theirs(seq=4, ack=2)
    talk.ours(ACK | PSH, b"12345", seq=2, ack=4)
    talk.theirs(seq=4, ack=ack)


def gap(talk: Conversation, *echoes: tuple[int, int]) -> None:
    """Text comes behind a gap, then what fills it; the ACK and the echo of both answers."""
    first, answer = opt.timestamps(100, 0), opt.timestamps(500, 100)
    talk.handshake((MSS, first), (MSS, answer))
    talk.theirs(options=(opt.timestamps(501, 101),))
    pieces: Iterable[tuple[int, int]] = ((6, 200), (1, 300))
    for (seq, value), (ack, echo) in zip(pieces, echoes, strict=True):
        talk.ours(ACK, b"12345", seq=seq, options=(opt.timestamps(value, 501),))
        talk.theirs(ack=ack, options=(opt.timestamps(502, echo),))


def probe(talk: Conversation, mark: int) -> None:
    """A probe of a closed window, on a connection with ECN."""
    talk.ours(SYN | ECE | CWR, options=(MSS,))
    talk.theirs(SYN | ACK | ECE, options=(MSS,))
    talk.ours()
    talk.theirs(ACK | PSH, b"abc")
    talk.conduct.writes(True)
    talk.ours(ack=4, window=0)
    talk.rest(1.0)
    talk.theirs(ACK, b"d", seq=4, traffic_class=mark)


ODD: dict[str, tuple[Script, Script]] = {
    "urgent-text-dropped": minds(flags=ACK | PSH | URG, urgent=3),
    "reserved-bits-minded": minds(reserved=4),
    "strange-option-minded": minds(options=(STRANGE,)),
    "unasked-times-minded": minds(options=(opt.timestamps(7, 0),)),
    "keepalive-unanswered": (
        lambda talk: waits(talk, answered=False),
        lambda talk: waits(talk, answered=True),
    ),
    "ack-ahead-unanswered": (
        lambda talk: ahead(talk, answered=False),
        lambda talk: ahead(talk, answered=True),
    ),
    "reset-unchallenged": (
        lambda talk: ahead(talk, rst=True, answered=False),
        lambda talk: ahead(talk, rst=True, answered=True),
    ),
    "challenged-rst-ends": (
        lambda talk: challenged(talk, RST),
        lambda talk: challenged(talk, ACK),
    ),
    "old-text-unanswered": (
        lambda talk: waits(talk, answered=False, old=True),
        lambda talk: waits(talk, answered=True, old=True),
    ),
    "wrong-ack-unanswered": (
        lambda talk: half_open(talk, None),
        lambda talk: half_open(talk, RST),
    ),
    "opens-for-a-wrong-ack": (
        lambda talk: half_open(talk, ACK, 6),
        lambda talk: half_open(talk, ACK, 1),
    ),
    "text-without-ack-taken": takes(flags=PSH),
    "text-beside-a-wrong-ack": takes(ack=AHEAD),
    "bad-checksum-taken": takes(checksum=0x1234),
    "rst-with-fin-ignored": (
        lambda talk: reset(talk, ACK),
        lambda talk: reset(talk, RST),
    ),
    "rst-at-closed-window-ignored": (
        lambda talk: closed_window(talk, ACK),
        lambda talk: closed_window(talk, RST),
    ),
    "rst-with-old-times-ignored": (
        lambda talk: old_times(talk, ACK),
        lambda talk: old_times(talk, RST),
    ),
    "syn-ack-after-rst": (
        lambda talk: half_reset(talk, again=True),
        lambda talk: half_reset(talk, again=False),
    ),
    "rst-outside-ends": (
        lambda talk: far_reset(talk, RST | ACK),
        lambda talk: far_reset(talk, ACK),
    ),
    "rst-ignores-the-ack": (lambda talk: refused(talk, -7_000), lambda talk: refused(talk, 77)),
    "syn-ack-after-text": (lambda talk: again(talk, SYN | ACK), lambda talk: again(talk, ACK)),
    "syn-ack-of-another-number": (lambda talk: syn_acks(talk, 6), lambda talk: syn_acks(talk, 1)),
    "second-syn-unanswered": (
        lambda talk: syns(talk, answered=False),
        lambda talk: syns(talk, answered=True),
    ),
    "over-the-default-mss": (lambda talk: sizes(talk, 1460), lambda talk: sizes(talk, 536)),
    "uninitialised-window": (
        lambda talk: sizes(talk, *(536,) * 11),
        lambda talk: sizes(talk, *(536,) * 10),
    ),
    "over-the-syn-window": (
        lambda talk: small(talk, 150, scale(7), syn=True),
        lambda talk: small(talk, 100, scale(7), syn=True),
    ),
    "over-the-unscaled-window": (
        lambda talk: small(talk, 150, syn=False),
        lambda talk: small(talk, 100, syn=False),
    ),
    "again-too-soon": (lambda talk: slow(talk, 0.1), lambda talk: slow(talk, 0.7)),
    "again-before-its-time": (
        lambda talk: two_flights(talk, 0.1),
        lambda talk: two_flights(talk, 0.6),
    ),
    "into-a-shrunk-window": (
        lambda talk: taken_back(talk, b"ghi", b"jkl"),
        lambda talk: taken_back(talk, b"ghi"),
    ),
    "opens-from-afar": (lambda talk: from_afar(talk, b"abc"), lambda talk: from_afar(talk, b"")),
    "number-below-una": (lambda talk: numbers(talk, 1), lambda talk: numbers(talk, 3)),
    "keepalive-beside-text": (lambda talk: asked(talk, 3), lambda talk: asked(talk, 7)),
    "fin-missing": (
        lambda talk: closing(talk, answered=False),
        lambda talk: closing(talk, answered=True),
    ),
    "text-behind-their-fin": (lambda talk: behind(talk, 7), lambda talk: behind(talk, 2)),
    "early-text-echoed": (
        lambda talk: gap(talk, (1, 200), (11, 300)),
        lambda talk: gap(talk, (1, 101), (11, 300)),
    ),
    "gap-not-echoed": (
        lambda talk: gap(talk, (1, 101), (11, 101)),
        lambda talk: gap(talk, (1, 101), (11, 300)),
    ),
    "probe-marked": (lambda talk: probe(talk, 2), lambda talk: probe(talk, 0)),
}
"""By rule: what breaks it, and what nearly does."""
