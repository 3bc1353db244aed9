"""Steps of conversations for the rules on time and on causes."""

from __future__ import annotations

from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN
from tests.oracle.conduct.conversation import ISN, PERMITTED, Conversation, sack

MSS = opt.mss(1460)
TIMES = opt.timestamps(100, 0)
ANSWER = opt.timestamps(500, 100)
FULL = b"x" * 1460


def opened(talk: Conversation, *more: opt.RawOption) -> None:
    """A handshake, and a segment of the server's behind it: a line of three bytes."""
    talk.handshake((MSS, *more), (MSS, *more))
    talk.theirs(ACK | PSH, b"abc")
    talk.ours(ack=4)


def timed(talk: Conversation, value: int) -> None:
    """A segment of the server's with that TSval."""
    talk.theirs(options=(opt.timestamps(value, 101),))


def acked(talk: Conversation, after: float) -> None:
    opened(talk)
    talk.ours(ACK | PSH, b"12345", ack=4)
    talk.rest(after)
    talk.theirs(seq=4, ack=6)


def reopened(talk: Conversation, iss: int) -> None:
    """The server closes a connection of 500 bytes; another one between the same ends."""
    for number, theirs in enumerate((7_000, iss)):
        talk.begin("same")
        talk.ours(SYN, isn=ISN + number)
        talk.theirs(SYN | ACK, isn=ISN + number, iss=theirs)
        if not number:
            talk.ours(ack=1, iss=theirs)
            talk.theirs(ACK | FIN, bytes(500), iss=theirs)


def ended(talk: Conversation, after: float) -> None:
    """Text that was acknowledged comes again, with a FIN behind it."""
    acked(talk, 0.1)
    talk.ours(ACK | PSH | FIN, b"12345", seq=1, ack=4)
    talk.rest(after)
    talk.theirs(seq=4, ack=7)


def fins(talk: Conversation, answer: int, after: float, *, silent: bool = False) -> None:
    """The server closes first; our FIN comes again."""
    opened(talk)
    talk.theirs(FIN | ACK, seq=4)
    talk.ours(FIN | ACK, ack=5)
    talk.theirs(seq=5, ack=2)
    talk.rest(after)
    talk.ours(FIN | ACK, ack=5)
    if silent:
        talk.rest(1.5)
    else:
        talk.theirs(answer, seq=5, ack=2)


def probed(talk: Conversation, after: float) -> None:
    talk.handshake((MSS,), (MSS,))
    talk.theirs(window=0)
    talk.rest(1.5)
    talk.ours(ACK | PSH, b"x")
    talk.rest(after)
    talk.theirs(window=0)


def shut(talk: Conversation, window: int) -> None:
    """The window closes, the application reads again, and the peer probes."""
    talk.handshake((MSS,), (MSS,))
    talk.theirs(window=0)
    talk.conduct.reads(False)
    talk.conduct.reads(True)
    talk.rest(2.0)
    talk.ours(ACK, b"x", seq=1, ack=1)
    talk.theirs(window=window)
    talk.rest(10.0)


def early(talk: Conversation, times: int) -> None:
    """So often a piece comes before its turn, is not kept, and comes again."""
    opened(talk)
    for number in range(times):
        at = 1 + 10 * number
        talk.ours(ACK, b"late!", seq=at + 5, ack=4)
        talk.theirs(seq=4, ack=at)
        talk.ours(ACK, b"early", seq=at, ack=4)
        talk.theirs(seq=4, ack=at + 5)
        talk.ours(ACK, b"late!", seq=at + 5, ack=4)
        talk.theirs(seq=4, ack=at + 10)


def full_segments(talk: Conversation, together: int, apart: float) -> None:
    """Full segments come one by one, and so many have one ACK."""
    opened(talk)
    for number in range(12):
        talk.ours(ACK, FULL, seq=1 + 1460 * number, ack=4)
        talk.rest(apart)
        if number % together == together - 1:
            talk.theirs(seq=4, ack=1 + 1460 * (number + 1))


def acked_by_a_probe(talk: Conversation, start: int) -> None:
    """Text is acknowledged by a probe of the closed window; later text comes from `start` on."""
    talk.handshake((MSS,), (MSS,))
    talk.theirs(ACK | PSH, b"abc", window=0)
    talk.ours(ACK | PSH, b"x", ack=4)
    talk.theirs(seq=4, window=0)
    talk.rest(2.0)
    talk.theirs(ACK | PSH, b"def", seq=start, window=0)


def unread(talk: Conversation, size: int) -> None:
    opened(talk)
    talk.conduct.reads(False)
    for number in range(size // 50_000):
        talk.ours(ACK, b"x" * 50_000, seq=1 + 50_000 * number, ack=4)
        talk.theirs(seq=4, ack=1 + 50_000 * (number + 1))


def acks(talk: Conversation, ours: int, theirs: int) -> None:
    opened(talk)
    for number in range(max(ours, theirs)):
        if number < ours:
            talk.ours(ack=4)
        if number < theirs:
            talk.theirs(seq=4)
    talk.ours(ACK | PSH, b"x", ack=4)
    talk.theirs(seq=4, ack=2)


def old(talk: Conversation, ack: int) -> None:
    opened(talk)
    talk.ours(ACK | PSH, b"old", ack=4 - (1 << 29))
    talk.theirs(seq=4, ack=ack)


def reset(talk: Conversation, *, icmp: tuple[int, int] | None = None, wrong: bool = False) -> None:
    opened(talk)
    if icmp is not None:
        talk.icmp(*icmp)
    talk.ours(ACK | PSH, b"x", ack=9_000 if wrong else 4)
    talk.theirs(RST, seq=4)


def after_rst(talk: Conversation, text: bytes, *, exact: bool = True, flags: int = ACK) -> None:
    opened(talk)
    talk.ours(ACK | PSH, b"x" * 100, ack=4)
    talk.theirs(seq=4, ack=101)
    talk.ours(RST, text, seq=101 if exact else 109)
    talk.rest(0.5)
    talk.ours(ACK | PSH, b"y", seq=101, ack=4)
    talk.theirs(flags, seq=4, ack=102 if flags == ACK else 101)


def abort(talk: Conversation, flags: int) -> None:
    opened(talk)
    talk.ours(ACK | PSH, b"x", ack=9_000)
    talk.theirs(RST | ACK, seq=4)
    talk.theirs(flags, seq=4)


def challenges(talk: Conversation, seconds: float) -> None:
    opened(talk)
    for _ in range(2_100):
        talk.ours(RST, seq=90)
        talk.rest(seconds)
        talk.theirs(seq=4)


def idle(talk: Conversation, seconds: float) -> None:
    opened(talk)
    talk.rest(seconds)
    talk.theirs(seq=3)


def closed_window(talk: Conversation, *gaps: float) -> None:
    """Text waits for a window that we closed; the server probes."""
    opened(talk)
    talk.conduct.writes(True)
    talk.ours(ack=4, window=0)
    for gap in gaps:
        talk.rest(gap)
        talk.theirs(ACK, b"d", seq=4)
        talk.ours(ack=4, window=0)


def identified(talk: Conversation, *numbers: int) -> None:
    """Texts that routers may cut, with these identifications."""
    alike(talk, 29, *numbers)


def alike(talk: Conversation, size: int, *numbers: int) -> None:
    """Texts of some size without DF, with these identifications."""
    opened(talk)
    for at, number in enumerate(numbers):
        begin = 4 + size * at
        talk.theirs(ACK | PSH, b"a" * size, seq=begin, ip_id=number, may_fragment=True)


def ticks(talk: Conversation, seconds: float, ticks: int) -> None:
    talk.handshake((MSS, TIMES), (MSS, ANSWER))
    timed(talk, 501)
    talk.rest(seconds)
    talk.ours(ACK | PSH, b"x", options=(opt.timestamps(101, 501),))
    talk.theirs(ack=2, options=(opt.timestamps(501 + ticks, 101),))


def reports(talk: Conversation, *edges: tuple[int, int], again: bool = False) -> None:
    opened(talk, PERMITTED)
    talk.ours(ACK, b"x" * 10, seq=11, ack=4)
    talk.theirs(seq=4, options=(sack((11, 21)),))
    if again:
        talk.ours(ACK, b"x" * 10, seq=11, ack=4)
    else:
        talk.ours(seq=21, ack=4)
    talk.theirs(seq=4, options=(sack(*edges),) if edges else ())


def told(talk: Conversation, *, sent: int, told: int) -> None:
    """A piece comes so often, and so many ACKs report it as a duplicate."""
    opened(talk, PERMITTED)
    for _ in range(sent):
        talk.ours(ACK, b"x" * 10, ack=4)
    for _ in range(told):
        talk.theirs(seq=4, ack=11, options=(sack((1, 11)),))


def ecn(talk: Conversation) -> None:
    talk.ours(SYN | ECE | CWR, options=(MSS,))
    talk.theirs(SYN | ACK | ECE, options=(MSS,))
    talk.ours()
    talk.theirs(ACK | PSH, b"abc", traffic_class=2)
    talk.ours(ack=4)


def copy(talk: Conversation, flags: int, mark: int) -> None:
    ecn(talk)
    talk.theirs(ACK | PSH, b"def", seq=4, traffic_class=2)
    talk.rest(1.0)
    talk.theirs(ACK | PSH | flags, b"def", seq=4, traffic_class=mark)


def marked(talk: Conversation, flags: int) -> None:
    ecn(talk)
    talk.ours(ACK | PSH, b"x", ack=4, traffic_class=3)
    talk.theirs(ACK | flags, seq=4, ack=2)


def reduced(talk: Conversation, flags: int) -> None:
    ecn(talk)
    talk.theirs(ACK | PSH, b"def", seq=4, traffic_class=2)
    talk.ours(ACK | ECE, ack=7)
    talk.rest(0.5)
    talk.theirs(ACK | PSH | flags, b"ghi", seq=7, traffic_class=2)
    talk.theirs(ACK | PSH, b"jkl", seq=10, traffic_class=2)


def group(talk: Conversation, *, one: bool) -> None:
    talk.ours(SYN, dst=ip_address("224.0.0.1"))
    if one:
        talk.ours(SYN)
    talk.theirs(SYN | ACK)


def far(talk: Conversation, after: float) -> None:
    talk.ours(SYN, hop_limit=1)
    talk.rest(after)
    talk.theirs(SYN | ACK)


def left(talk: Conversation, read: bytes) -> None:
    """Five bytes are acknowledged, of which the application read some before it closed."""
    acked(talk, 0.0)
    talk.conduct.left(read)


def got(talk: Conversation, text: bytes) -> None:
    acked(talk, 0.0)
    talk.conduct.got(text, b"12345")


def line(talk: Conversation, count: int, step: int = 64_000) -> None:
    for number in range(count):
        talk.begin(f"port {number}")
        talk.ours(SYN, isn=77 * number * number)
        talk.theirs(SYN | ACK, isn=77 * number * number, iss=step * number)
