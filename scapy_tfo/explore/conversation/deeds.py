"""Legal deeds: what few clients do, and each of them may.

A deed is done once in a conversation, as soon as its place has come and it can be done: to the next
segment that is fit for it, or beside the segments that are sent anyway. It gives a target no reason
to do less than it does without.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from scapy_tfo import seq
from scapy_tfo.explore.ends.actors import Writer
from scapy_tfo.explore.ends.opening import GOOD, PLAIN
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.segment import ACK, CWR, FIN, RST, SYN, URG, Segment

Pieces = list[tuple[float, Segment]]
"""What is sent instead of a segment: seconds to wait, and a segment."""

_SHORTLY, _LONGER = 0.03, 0.6
"""Seconds that text is late: less than most delayed acknowledgements wait, and more."""
_BYTES = 24
"""Segments of one byte at most."""
_PIECES, _STEP_APART = 10, 0.002
"""Pieces of a segment that is shuffled, and seconds between them."""
_MOST_POINTER = 0xFFFF
_STEP, _FAR_STEP = 1 << 20, (1 << 31) - (1 << 26)
"""Of the clock of the timestamps: some minutes, and as far as it can go ahead (RFC 7323 5.4)."""
_LEAST_WINDOW = 400
"""Bytes of a window that may shrink."""
_REPEATED = 536
"""Bytes that fit into a segment of every stack."""
_OPENS_BY = 600
"""Bytes by which a window opens."""
_READ_AT_ONCE, _TURNS, _TURN = 20, 30, 0.02
"""Bytes that are read at a time, how often, and seconds from one time to the next."""
SYN_AGAIN = "syn-again"
LAST_AGAIN, FIN_AGAIN = "last-again", "fin-again"
RESTS_FOR_MINUTES = "rest-minutes"
REPEATS = (SYN_AGAIN, LAST_AGAIN, FIN_AGAIN)
"""What the client sends once more, though it was acknowledged."""
_CONGESTED = 3
_CAPABLE = (1, 2)


class Doing(Protocol):
    """What a deed uses of a conversation. connection: the client's, past its handshake."""

    connection: ActiveConnection
    client: Writer

    @property
    def now(self) -> float: ...

    def later(self, seconds: float, act: Callable[[], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One of these: edit, of a segment of the client's that goes on its way; back, of one of the
    target's that has left it: both return [] where the segment is not fit. joins: a segment that
    this takes waits for the FIN behind it. repeats: what has text, or a FIN, begins with the text
    before it once more. act: of the client, False where it cannot be done yet. beside: what is sent
    beside the conversation, by its name in `wrong.KINDS`. waits: it must not come before the
    handshake is over. company: how another client opens a connection meanwhile. again: the same two
    ends connect once more, when all is over.

    settings: of the client's stack that it takes.
    """

    edit: Callable[[Segment], Pieces] | None = None
    back: Callable[[Segment], Pieces] | None = None
    joins: Callable[[Segment, Doing], bool] | None = None
    repeats: Callable[[Segment], bool] | None = None
    act: Callable[[Doing], bool] | None = None
    beside: str = ""
    waits: bool = True
    company: str = ""
    again: bool = False
    settings: tuple[tuple[str, object], ...] = ()

    @property
    def takes_text(self) -> bool:
        """Whether it is done to a segment of the client's with text."""
        return self.edit is not None or self.joins is not None or self.repeats is not None


def _is_text(segment: Segment) -> bool:
    return bool(segment.payload) and not segment.flags & (SYN | RST)


def _capable(segment: Segment) -> bool:
    return segment.traffic_class & _CONGESTED in _CAPABLE


def marked(segment: Segment) -> Pieces:
    """A router tells of congestion on the path (RFC 3168 section 5)."""
    if not _capable(segment):
        return []
    return [(0.0, replace(segment, traffic_class=segment.traffic_class | _CONGESTED))]


def _reduced(segment: Segment) -> Pieces:
    """The client made its congestion window smaller (RFC 3168 section 6.1.2)."""
    fit = _is_text(segment) and _capable(segment)
    return [(0.0, replace(segment, flags=segment.flags | CWR))] if fit else []


def _reduced_and_marked(segment: Segment) -> Pieces:
    """It tells so, and a router tells of congestion once more."""
    return [(0.0, whole) for _, each in _reduced(segment) for _, whole in marked(each)]


def _takes_back(segment: Segment) -> Pieces:
    """An ACK offers a fourth of the window, and the next segment all of it (RFC 9293 3.8.6)."""
    if segment.flags != ACK or segment.payload or segment.window < _LEAST_WINDOW:
        return []
    return [(0.0, replace(segment, window=segment.window // 4))]


def _urgent(pointer: Callable[[Segment], int]) -> Callable[[Segment], Pieces]:
    def edit(segment: Segment) -> Pieces:
        if not _is_text(segment):
            return []
        return [(0.0, replace(segment, flags=segment.flags | URG, urgent=pointer(segment)))]

    return edit


def split(segment: Segment, at: int) -> tuple[Segment, Segment]:
    """A segment as two, the second one from byte `at` of its text on."""
    ahead = max(segment.urgent - at, 0)
    behind = segment.flags if ahead else segment.flags & ~URG
    first = replace(segment, flags=segment.flags & ~FIN, payload=segment.payload[:at])
    start = seq.add(segment.seq, at)
    text = segment.payload[at:]
    return first, replace(segment, seq=start, flags=behind, payload=text, urgent=ahead)


def _gap(seconds: float) -> Callable[[Segment], Pieces]:
    """The second half of a segment comes before the first."""

    def edit(segment: Segment) -> Pieces:
        if not _is_text(segment) or len(segment.payload) < 2:
            return []
        first, second = split(segment, len(segment.payload) // 2)
        return [(0.0, second), (seconds, first)]

    return edit


def _late(segment: Segment) -> Pieces:
    """What is sent behind a segment overtakes it."""
    return [(_LONGER, segment)] if _is_text(segment) else []


def _by_bytes(segment: Segment) -> Pieces:
    """Text comes in segments of one byte, the last one excepted."""
    if not _is_text(segment) or len(segment.payload) < 2:
        return []
    made: Pieces = []
    rest = segment
    while len(rest.payload) > 1 and len(made) < _BYTES:
        one, rest = split(rest, 1)
        made.append((0.0, one))
    return [*made, (0.0, rest)]


def _holes(segment: Segment) -> Pieces:
    """Text comes in segments of one byte, each second one of them first."""
    made = _by_bytes(segment)
    late = [(_SHORTLY, each) for _, each in made[::2]]
    return [*made[1::2], *late]


def _shuffled(segment: Segment) -> Pieces:
    """Text comes in pieces, in an order of which nobody can make sense."""
    if not _is_text(segment) or len(segment.payload) < _PIECES:
        return []
    size = len(segment.payload) // _PIECES
    made, rest = [], segment
    for _ in range(_PIECES - 1):
        one, rest = split(rest, size)
        made.append(one)
    made.append(rest)
    # Another order for another segment, and always the same for this one.
    random.Random(segment.seq).shuffle(made)
    return [(_STEP_APART * number, each) for number, each in enumerate(made)]


def _acknowledges_the_fin(segment: Segment, doing: Doing) -> bool:
    """Whether it is the ACK alone of the target's FIN, which a FIN may carry."""
    return segment.flags == ACK and not segment.payload and doing.connection.recv.finished


def joined(first: Segment, second: Segment) -> Segment | None:
    """Two segments as one, None where the second is no FIN right behind the first."""
    alone = second.flags & FIN and not second.payload and not second.flags & (SYN | RST)
    if not alone or second.seq != first.end:
        return None
    flags = second.flags | first.flags & (CWR | URG)
    return replace(first, flags=flags, ack=second.ack, window=second.window, options=second.options)


def with_text_before(last: Segment | None, segment: Segment) -> Segment | None:
    """A segment that begins with the text of the last one once more, None where it is not right
    behind that. Who sends text again may cut it anew (RFC 9293 section 3.8.1)."""
    if last is None or segment.flags & (SYN | RST | URG) or last.end != segment.seq:
        return None
    if len(last.payload) + len(segment.payload) > _REPEATED:
        return None
    return replace(segment, seq=last.seq, payload=last.payload + segment.payload)


# What the client does beside.


def _probe(text: bytes) -> Callable[[Doing], bool]:
    """A keep-alive, with a byte that was acknowledged or without (RFC 9293 section 3.8.4)."""

    def act(doing: Doing) -> bool:
        connection = doing.connection
        send = connection.send
        if send.outstanding or send.fin_sent or not connection.is_synchronized:
            return False
        connection.transmit(seq.add(send.nxt, -1), ACK, doing.now, text)
        return True

    return act


def _opens_window(doing: Doing) -> bool:
    connection = doing.connection
    if not connection.is_synchronized or connection.recv.finished:
        return False
    connection.enlarge_window(connection.recv.wnd + _OPENS_BY, doing.now)
    return True


def _rests(seconds: float) -> Callable[[Doing], bool]:
    """The application does not read for a while: the window closes, and opens again."""

    def act(doing: Doing) -> bool:
        if doing.connection.is_synchronized and doing.client.reading:
            doing.client.pause()
            doing.later(seconds, doing.client.resume)
            return True
        return False

    return act


def _reads_in_pieces(doing: Doing) -> bool:
    """The application reads few bytes at a time for a while: the window opens by small steps, of
    which the target is told when they come to enough (RFC 9293 section 3.8.6.2.2)."""
    if not (doing.connection.is_synchronized and doing.client.reading):
        return False
    client = doing.client
    client.pause()
    for turn in range(_TURNS):
        doing.later(_TURN * (turn + 1), lambda: client.read_some(_READ_AT_ONCE))
    doing.later(_TURN * (_TURNS + 1), client.resume)
    return True


def _steps(ahead: int) -> Callable[[Doing], bool]:
    """The clock of the timestamps goes ahead by so many units."""

    def act(doing: Doing) -> bool:
        connection, now = doing.connection, doing.now
        if not connection.timestamps:
            return False
        connection.set_clock(connection.timestamp(now) + ahead, now)
        return True

    return act


_ECN = (("ecn", True),)
_SMALL = (("receive_window", 96),)
_FULL = (("receive_window", 100),)
"""As long as what some applications write before they end."""
_FEW = (("receive_window", 3_000), ("window_scaling", False))
"""Two segments."""
_UNSCALED = (*_SMALL, ("window_scaling", False))

KINDS: dict[str, Kind] = {
    "ce": Kind(edit=marked, settings=_ECN),
    "ce-answer": Kind(back=marked, settings=_ECN),
    "cwr": Kind(edit=_reduced, settings=_ECN),
    "cwr-and-ce": Kind(edit=_reduced_and_marked, settings=_ECN),
    "urgent-near": Kind(edit=_urgent(lambda _segment: 1)),
    "urgent-end": Kind(edit=_urgent(lambda segment: len(segment.payload))),
    "urgent-far": Kind(edit=_urgent(lambda _segment: _MOST_POINTER)),
    "gap": Kind(edit=_gap(_SHORTLY)),
    "gap-long": Kind(edit=_gap(_LONGER)),
    "late": Kind(edit=_late),
    "one-byte": Kind(edit=_by_bytes),
    "holes": Kind(edit=_holes),
    "shuffled": Kind(edit=_shuffled),
    "fin-with-text": Kind(joins=lambda segment, _: _is_text(segment)),
    "fin-with-ack": Kind(joins=_acknowledges_the_fin),
    "fin-with-old-text": Kind(repeats=lambda segment: bool(segment.flags & FIN)),
    "text-overlaps": Kind(repeats=lambda segment: bool(segment.payload)),
    LAST_AGAIN: Kind(beside=LAST_AGAIN),
    FIN_AGAIN: Kind(beside=FIN_AGAIN),
    "host-unreachable": Kind(beside="host-unreachable"),
    "net-unreachable": Kind(beside="net-unreachable"),
    "time-exceeded": Kind(beside="time-exceeded"),
    "parameter-problem": Kind(beside="parameter-problem"),
    "narrow": Kind(beside="too-big-1400"),
    "narrower": Kind(beside="too-big-1280"),
    SYN_AGAIN: Kind(beside=SYN_AGAIN, waits=False),
    "rest": Kind(act=_rests(0.4), settings=_SMALL),
    "rest-long": Kind(act=_rests(5.0), settings=_SMALL),
    "rest-unscaled": Kind(act=_rests(2.0), settings=_UNSCALED),
    "rest-full": Kind(act=_rests(10.0), settings=_FULL),
    "read-pieces": Kind(act=_reads_in_pieces, settings=_SMALL),
    RESTS_FOR_MINUTES: Kind(act=_rests(600.0), settings=_SMALL),
    "keep-alive": Kind(act=_probe(b"")),
    "keep-alive-byte": Kind(act=_probe(b"\0")),
    "window-update": Kind(act=_opens_window),
    "window-back": Kind(edit=_takes_back, settings=_FEW),
    "step": Kind(act=_steps(_STEP)),
    "step-far": Kind(act=_steps(_FAR_STEP)),
    "beside-plain": Kind(company=PLAIN),
    "beside-fast": Kind(company=GOOD),
    "again": Kind(again=True),
}
"""Every kind, by name."""
