"""Steps of conversations for the rules on what is sent, and sent again."""

from __future__ import annotations

from scapy_tfo.segment import ACK, FIN, PSH, SYN
from tests.oracle.conduct.conversation import Conversation
from tests.oracle.conduct.later_talk import FULL, MSS, opened


def unacked(talk: Conversation, *, again: bool) -> None:
    opened(talk)
    talk.theirs(ACK | PSH, b"def", seq=4)
    if again:
        talk.rest(1.0)
        talk.theirs(ACK | PSH, b"def", seq=4)
    talk.rest(5.0)


def all_but_the_fin(talk: Conversation, *, again: bool) -> None:
    """The answer is acknowledged, and the FIN behind it is not."""
    opened(talk)
    talk.theirs(ACK | PSH, b"def", seq=4)
    talk.theirs(FIN | ACK, seq=7)
    talk.ours(ack=7)
    if again:
        talk.rest(1.0)
        talk.theirs(FIN | ACK, seq=7)
    talk.rest(5.0)
    talk.theirs(FIN | ACK, seq=7)


def fin_later(talk: Conversation, flags: int, size: int) -> None:
    opened(talk)
    talk.theirs(FIN | ACK, seq=4)
    talk.ours(ack=5)
    talk.rest(1.0)
    talk.ours(ACK | PSH, b"x" * size, ack=5)
    talk.theirs(flags, seq=4 if flags & FIN else 5, ack=1 + size)


def burst(talk: Conversation, second: bytes) -> None:
    opened(talk)
    talk.theirs(ACK, FULL, seq=4)
    talk.theirs(ACK, FULL, seq=1464)
    talk.rest(1.0)
    talk.theirs(ACK, FULL, seq=4)
    if second:
        talk.theirs(ACK, second, seq=1464)


def lost_twice(talk: Conversation, *sizes: int, gap: float = 0.0) -> None:
    """Two copies of the SYN-ACK, and then text; with `gap` it comes again."""
    talk.ours(SYN, options=(MSS,))
    for pause in (0.0, 1.0, 2.0):
        talk.rest(pause)
        talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours()
    at = 1
    for size in sizes:
        talk.theirs(ACK, b"x" * size, seq=at)
        at += size
    if gap:
        talk.rest(gap)
        talk.theirs(ACK, b"x" * sizes[0])


def copies(talk: Conversation, *gaps: float) -> None:
    opened(talk)
    for gap in (0.0, *gaps):
        talk.rest(gap)
        talk.theirs(ACK | PSH, b"def", seq=4)


def flight(talk: Conversation, count: int) -> None:
    opened(talk)
    for number in range(count):
        talk.theirs(ACK, FULL, seq=4 + 1460 * number)


def duplicates(talk: Conversation, count: int, at: int | None, *, late: float = 0.0) -> None:
    """Four segments are answered with so many duplicate ACKs; text at `at` comes again."""
    flight(talk, 4)
    for _ in range(count):
        talk.ours(ack=4)
    talk.rest(late)
    if at is not None:
        talk.theirs(ACK, FULL, seq=at)
    talk.rest(0.1)


def recovered(talk: Conversation, count: int) -> None:
    """Ten segments are answered with 15 duplicate ACKs and then acknowledged; so many follow."""
    flight(talk, 10)
    for _ in range(15):
        talk.ours(ack=4)
    talk.theirs(ACK, FULL, seq=4)
    talk.rest(0.1)
    end = 4 + 1460 * 10
    talk.ours(ack=end)
    for number in range(count):
        talk.theirs(ACK, FULL, seq=end + 1460 * number)


def avoiding(talk: Conversation, more: int, first: int = 5) -> None:
    """Each round trip so many segments more are under way than the first; all of a flight is
    acknowledged at the end of it."""
    opened(talk)
    talk.conduct.avoids(6 * 1460)
    end = 4
    for number in range(6):
        size = first + number * more
        for each in range(size):
            talk.theirs(ACK, FULL, seq=end + 1460 * each)
        talk.rest(0.1)
        end += 1460 * size
        for each in range(size):
            talk.ours(ack=end - 1460 * (size - 1 - each))


def quenched(talk: Conversation, *sizes: int) -> None:
    """So many segments are under way when each flight is acknowledged; a source quench comes
    behind the first, and one segment more at the end."""
    opened(talk)
    end = 4
    for number, size in enumerate((*sizes, 1)):
        for _ in range(size):
            talk.theirs(ACK, FULL, seq=end)
            end += 1460
        talk.rest(0.1)
        if not number:
            talk.conduct.has_no_reason_to_slow(1460 * size)
            talk.icmp(4, 0)
            talk.rest(0.1)
        talk.ours(ack=end)


def narrow(talk: Conversation, size: int) -> None:
    opened(talk)
    talk.theirs(ACK, b"x" * 1400, seq=4)
    talk.icmp(2, 0, mtu=1280)
    talk.rest(0.5)
    talk.theirs(ACK, b"x" * size, seq=4)


def narrow_again(talk: Conversation, *sizes: int) -> None:
    """A minute after a router told, and text came that fits, some of these sizes comes."""
    narrow(talk, 1220)
    talk.ours(ack=1224)
    talk.rest(60.0)
    for at, size in enumerate(sizes):
        talk.theirs(ACK, b"x" * size, seq=1224 + sum(sizes[:at]))


def told_twice(talk: Conversation, after: float) -> None:
    """Two routers tell the same; text comes again so many seconds after the second did."""
    opened(talk)
    talk.theirs(ACK, b"x" * 1220, seq=4)
    talk.icmp(2, 0, mtu=1280)
    talk.rest(0.1)
    talk.icmp(2, 0, mtu=1280)
    talk.rest(after)
    talk.theirs(ACK, b"x" * 1220, seq=4)


def unpushed(talk: Conversation, *, more: bool) -> None:
    """A segment without PSH is acknowledged at once; more text may follow."""
    opened(talk)
    talk.theirs(ACK, b"def", seq=4)
    talk.ours(ack=7)
    talk.rest(0.5)
    if more:
        talk.theirs(ACK | PSH, b"ghi", seq=7)
        talk.ours(ack=10)
    talk.rest(1.0)


def little_room(talk: Conversation, after: float) -> None:
    """Ten bytes fill the window, which opens by five, while more text waits."""
    talk.ours(SYN, options=(MSS,), window=10)
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours(window=10)
    talk.theirs(ACK | PSH, b"x" * 10)
    talk.conduct.has_more()
    talk.ours(ack=11, window=5)
    talk.rest(after)
    talk.theirs(ACK | PSH, b"x" * 5, seq=11)


def told_little(talk: Conversation, *sizes: int) -> None:
    opened(talk)
    talk.theirs(ACK, b"x" * 500, seq=4)
    talk.icmp(3, 4, mtu=66)
    for number, size in enumerate(sizes):
        talk.theirs(ACK, b"x" * size, seq=4 + 26 * number)


def closing(talk: Conversation, after: float) -> None:
    """The application writes and closes; its FIN comes so many seconds after its text."""
    talk.handshake((MSS,), (MSS,))
    talk.conduct.closes()
    talk.theirs(ACK | PSH, b"abc")
    talk.rest(after)
    talk.theirs(FIN | ACK, seq=4)


def widened(talk: Conversation, *pauses: float) -> None:
    """Three segments are under way; so many seconds apart ACKs widen the window, and each lets one
    more out. Then the first comes again."""
    talk.ours(SYN, options=(MSS,), window=30_000)
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours(window=30_000)
    for number in range(3):
        talk.theirs(ACK, FULL, seq=1 + 1460 * number)
    for number, pause in enumerate(pauses):
        talk.rest(pause)
        talk.ours(ack=1, window=40_000 + 2_000 * number)
        talk.theirs(ACK, FULL, seq=1 + 1460 * (3 + number))
    talk.rest(0.01)
    talk.ours(ack=1, window=60_000)
    talk.theirs(ACK, FULL, seq=1)
