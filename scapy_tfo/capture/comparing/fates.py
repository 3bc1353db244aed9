"""What became of each packet of a connection on the path between two captures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo.capture.comparing.packets import Packet, Way, ahead
from scapy_tfo.capture.connections import Connection
from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

DELAYED = 250_000_000
"""ns that a packet takes longer than the fastest one of its direction, to be called delayed."""

PASSED, CHANGED, DELAYED_KIND, DROPPED = "passed", "changed", "delayed", "dropped"
COPIED, INVENTED, NOT_CAPTURED = "copied", "invented", "not captured"
DONE = (CHANGED, DELAYED_KIND, DROPPED, COPIED, INVENTED)
_QUARTER = 1 << 30

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a packet on the path.

    kind: one of the constants of this module; `not captured` where the other capture does not reach
    so far, or what that end sent shows that it came, or was sent. to_server: its direction. what:
    `SYN`, `SYN-ACK`, `RST`, `FIN`, `data`, `ACK` or `ICMP`. when: ns, by the clock of the end that
    sent it, or else that it came to. sent, arrived: frame numbers, None where it is in no frame.
    delay: ns more than the fastest packet of its direction. changes: what differs. size: bytes of
    data; came: of these, in the packet that arrived. bytes: of the IP packet. seq: its first
    number. option, cookie: whether it has a Fast Open option, and one with a cookie. detail: of an
    ICMP error, what it says.
    """

    kind: str
    to_server: bool
    what: str
    when: int
    sent: int | None = None
    arrived: int | None = None
    delay: int = 0
    changes: tuple[str, ...] = ()
    size: int = 0
    came: int = 0
    bytes: int = 0
    seq: int = 0
    option: bool = False
    cookie: bool = False
    detail: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the path did something to it."""
        return self.kind in DONE


@dataclass(frozen=True, slots=True)
class Clocks:
    """ns that the clocks differ by for the fastest packet of each direction, or None. here, there:
    the first and the last time of each capture."""

    to_server: int | None
    to_client: int | None
    here: Span
    there: Span


class Matched:
    """A connection, the packets of both captures paired. there: None where it is in the client's
    capture alone."""

    def __init__(self, here: Connection, there: Connection | None) -> None:
        self.here, self.there = here, there
        far = there or Connection(here.client, here.server)
        self.up = Way(_from(here, here.client), _from(far, far.client))
        self.down = Way(_from(far, far.server), _from(here, here.server))

    def fates(self, clocks: Clocks) -> tuple[Fate, ...]:
        """Of all its packets, in the order of each direction."""
        spans = clocks.here, clocks.there
        return (
            *_fates(self.up, self.down, clocks.to_server, spans, to_server=True),
            *_fates(self.down, self.up, clocks.to_client, spans[::-1], to_server=False),
            *self._errors(),
        )

    def _errors(self) -> Iterator[Fate]:
        """ICMP errors that came to the client and that the server's end has not seen."""
        if self.there is not None and any(
            isinstance(each.what, IcmpError) for each in self.there.packets
        ):
            return
        for each in self.here.packets:
            if isinstance(each.what, IcmpError) and each.src == self.here.server:
                yield Fate(
                    kind=INVENTED,
                    to_server=False,
                    what="ICMP",
                    when=each.when,
                    arrived=each.number,
                    seq=_quoted_seq(each.what),
                    detail="packet too big" if _is_too_big(each.what) else "refusal",
                )


def _quoted_seq(error: IcmpError) -> int:
    quoted = error.quoted or b""
    start = (quoted[0] & 15) * 4 if quoted and quoted[0] >> 4 == 4 else 40
    return int.from_bytes(quoted[start + 4 : start + 8], "big")


def _is_too_big(error: IcmpError) -> bool:
    """RFC 1191 and 4443: fragmentation needed, and packet too big."""
    is_v6 = bool(error.quoted) and error.quoted[0] >> 4 == 6
    return error.type == 2 if is_v6 else (error.type, error.code) == (3, 4)


def _from(connection: Connection, end: object) -> list[Packet]:
    return [
        Packet(each.number, each.when, each.what)
        for each in connection.packets
        if isinstance(each.what, Segment) and each.src == end
    ]


def _fates(
    way: Way, back: Way, fastest: int | None, spans: tuple[Span, Span], *, to_server: bool
) -> Iterator[Fate]:
    """spans: of the sender's capture and of the receiver's."""
    own, span = spans
    for each in way.sent:
        if each.fellow is not None:
            yield _paired(each, each.fellow, fastest or 0, to_server=to_server)
            continue
        is_covered = fastest is not None and span[0] <= each.when + fastest <= span[1]
        kind = DROPPED
        if way.is_in(each, way.arrived):
            kind = PASSED
        elif not is_covered or _has_come(each, way, back):
            kind = NOT_CAPTURED
        yield _fate(each, kind, to_server=to_server, sent=each.number)
    known = {each.key() for each in way.sent}
    for each in way.arrived:
        if each.fellow is None and not way.is_in(each, way.sent):
            kind = COPIED if each.key() in known else INVENTED
            is_covered = fastest is not None and own[0] <= each.when - fastest <= own[1]
            if kind == INVENTED and (not is_covered or _was_sent(each, way, back, fastest or 0)):
                kind = NOT_CAPTURED
            yield _fate(each, kind, to_server=to_server, arrived=each.number)


def _paired(each: Packet, fellow: Packet, fastest: int, *, to_server: bool) -> Fate:
    delay = fellow.when - each.when - fastest
    changes = tuple(_changes(each.segment, fellow.segment))
    kind = CHANGED if changes else DELAYED_KIND if delay > DELAYED else PASSED
    numbers = {"sent": each.number, "arrived": fellow.number}
    came = len(fellow.segment.payload)
    return _fate(
        each, kind, to_server=to_server, delay=delay, changes=changes, came=came, **numbers
    )


def _fate(
    packet: Packet,
    kind: str,
    *,
    to_server: bool,
    sent: int | None = None,
    arrived: int | None = None,
    delay: int = 0,
    changes: tuple[str, ...] = (),
    came: int = 0,
) -> Fate:
    segment = packet.segment
    options = segment.fast_open
    return Fate(
        kind=kind,
        to_server=to_server,
        what=_name(segment),
        when=packet.when,
        sent=sent,
        arrived=arrived,
        delay=delay,
        changes=changes,
        size=len(segment.payload),
        came=came,
        bytes=len(segment.to_bytes()) if segment.flags & SYN else 0,
        seq=segment.seq,
        option=bool(options),
        cookie=bool(segment.cookie),
    )


def _has_come(packet: Packet, way: Way, back: Way) -> bool:
    """Whether what the other end sent acknowledges something of it that nothing else had brought:
    it was only not captured there."""
    seq, length = packet.range()
    if not length:
        return False
    brought = [(ahead(seq, other.range()[0]), other.range()[1]) for other in way.arrived]
    if any(start < length and start + size >= length for start, size in brought):
        return False
    return any(
        other.segment.flags & ACK and length <= ahead(seq, other.segment.ack) < _QUARTER
        for other in back.sent
    )


def _was_sent(packet: Packet, way: Way, back: Way, fastest: int) -> bool:
    """Whether the sender's other packets go on where this one ends: it was only not captured there.
    Behind a RST nobody goes on; an end to which nothing came has sent none."""
    if packet.segment.flags & RST:
        return bool(back.arrived) and not any(
            other.when > packet.when - fastest for other in way.sent
        )
    seq, length = packet.range()
    return any(
        not other.segment.flags & SYN and length <= ahead(seq, other.segment.seq) < _QUARTER
        for other in way.sent
    )


def _name(segment: Segment) -> str:
    if segment.flags & SYN:
        return "SYN-ACK" if segment.flags & ACK else "SYN"
    if segment.flags & RST:
        return "RST"
    if segment.payload:
        return "data"
    return "FIN" if segment.flags & FIN else "ACK"


OPTION_REMOVED, COOKIE_CHANGED = "Fast Open option removed", "cookie changed"
DATA_CHANGED, WINDOW_SHUT = "data changed", "window shut"


def _changes(sent: Segment, arrived: Segment) -> Iterator[str]:
    """What is different, beyond what each router changes."""
    if sent.flags != arrived.flags:
        yield "flags changed"
    if sent.flags & ACK and sent.ack != arrived.ack:
        yield f"acknowledgement moved by {ahead(sent.ack, arrived.ack):+d}"
    if sent.window != arrived.window:
        is_shut = not arrived.window
        yield WINDOW_SHUT if is_shut else f"window {sent.window} became {arrived.window}"
    if sent.payload != arrived.payload:
        if len(sent.payload) == len(arrived.payload):
            yield DATA_CHANGED
        else:
            yield f"{len(sent.payload)} bytes of data became {len(arrived.payload)}"
    if sent.options != arrived.options:
        yield from _option_changes(sent, arrived)


def _option_changes(sent: Segment, arrived: Segment) -> Iterator[str]:
    if sent.fast_open and not arrived.fast_open:
        yield OPTION_REMOVED
    elif sent.fast_open != arrived.fast_open:
        yield COOKIE_CHANGED
    before, after = _others(sent), _others(arrived)
    for kind in sorted(before.keys() | after.keys()):
        if before.get(kind) != after.get(kind):
            how = "removed" if kind not in after else "added" if kind not in before else "changed"
            yield f"option {kind} {how}"


def _others(segment: Segment) -> dict[int, bytes]:
    """Options that are none of fast open."""
    found = opt.pull_options(segment.options)
    return {
        each.kind: each.data
        for each in found
        if each.kind > opt.NOP and not isinstance(opt.judge(each), opt.FastOpen)
    }
