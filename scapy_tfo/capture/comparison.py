"""Compares captures of both ends of a path: what it did to the packets of each fast open.

A packet is the same at both ends by its sequence number, its SYN, FIN and RST, and its TSval;
without timestamps, by its IPv4 identification. Addresses and ports have to be the same: there is no
looking through a NAT. The clocks are compared by the fastest packet of each direction, which are
taken for equally fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo import option as opt
from scapy_tfo.capture.connections import Captured, Connection, captured, connections
from scapy_tfo.capture.reader import read_frames
from scapy_tfo.errors import SetupError
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

DELAYED = 250_000_000
"""ns that a packet takes longer than the fastest one of its direction, to be called delayed."""

PASSED, CHANGED, DELAYED_KIND, DROPPED = "passed", "changed", "delayed", "dropped"
COPIED, INVENTED, NOT_CAPTURED = "copied", "invented", "not captured"
_WRAP, _HALF = 1 << 32, 1 << 31
_MARKS = SYN | FIN | RST


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a packet on the path.

    kind: one of the constants of this module; `not captured` where the other capture does not reach
    so far, or what that end sent shows that it came, or was sent. to_server: its direction. what:
    `SYN`, `SYN-ACK`, `RST`, `FIN`, `data` or `ACK`. sent, arrived: frame numbers, None where it is
    in no frame. delay: ns more than the fastest packet of its direction. changes: what differs.
    """

    kind: str
    to_server: bool
    what: str
    sent: int | None = None
    arrived: int | None = None
    delay: int = 0
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """A connection with a fast open. syn: bytes of data in its first SYN."""

    client: str
    server: str
    syn: int
    fates: tuple[Fate, ...]

    @property
    def done(self) -> tuple[Fate, ...]:
        """What the path did: fates other than `passed` and `not captured`."""
        return tuple(each for each in self.fates if each.kind not in (PASSED, NOT_CAPTURED))


@dataclass(slots=True)
class Pair:
    """SYNs between two hosts, with data and without, and how many of each were dropped."""

    client: str
    server: str
    with_data: int = 0
    with_data_dropped: int = 0
    plain: int = 0
    plain_dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """offset: ns that the server's clock is ahead, by the fastest packets. delay: ns that these
    took one way. None where one direction has no packet that passed."""

    connections: tuple[Compared, ...]
    offset: int | None
    delay: int | None
    pairs: tuple[Pair, ...]


def compare(client: Path, server: Path) -> Comparison:
    """Compare the capture of the client's end with the server's.

    Raises SetupError where one of them cannot be read, or cuts TCP headers short.
    """
    here, there = _connections(client), _connections(server)
    flows = [flow for flow in here if flow in there]
    matched = [_Matched(here[flow], there[flow]) for flow in flows if _is_fast_open(here[flow])]
    fastest = _Fastest(matched)
    spans = _span(here.values()), _span(there.values())
    compared = tuple(each.compared(fastest, spans) for each in matched)
    up, down = fastest.to_server, fastest.to_client
    return Comparison(
        connections=compared,
        offset=(up - down) // 2 if up is not None and down is not None else None,
        delay=(up + down) // 2 if up is not None and down is not None else None,
        pairs=tuple(_pairs(matched, compared)),
    )


def _connections(path: Path) -> dict[str, Connection]:
    """The connections of a capture by their flow; of those on the same ports the later ones are
    part of the first."""
    if not path.is_file():
        raise SetupError(f"there is no file {path}")
    found: dict[str, Connection] = {}
    for each in connections(captured(read_frames(path), path.name)):
        known = found.get(each.flow)
        if known is None:
            found[each.flow] = each
        else:
            known.packets.extend(each.packets)
    return found


def _is_fast_open(connection: Connection) -> bool:
    return any(
        segment.is_syn and (segment.payload or segment.fast_open)
        for segment in _segments(connection.packets)
    )


def _segments(packets: Iterable[Captured]) -> Iterable[Segment]:
    return (each.what for each in packets if isinstance(each.what, Segment))


def _span(all_of_them: Iterable[Connection]) -> tuple[int, int]:
    """The times of the first and the last packet."""
    times = [packet.when for each in all_of_them for packet in each.packets]
    return (min(times), max(times)) if times else (0, 0)


@dataclass(slots=True)
class _Packet:
    number: int
    when: int
    segment: Segment
    fellow: _Packet | None = None

    @property
    def stamp(self) -> bytes | None:
        found = self.segment.option(opt.TIMESTAMPS)
        return found.data[:4] if found else None

    def key(self) -> tuple[object, ...]:
        """What no path changes."""
        segment, stamp = self.segment, self.stamp
        known: object = stamp if stamp is not None else segment.ip_id
        return segment.seq, segment.flags & _MARKS, known

    def range(self) -> tuple[int, int]:
        """Its sequence numbers, from the first up to behind the last one."""
        return self.segment.seq, self.segment.length


def _ahead(start: int, end: int) -> int:
    """From one sequence number to another, negative where it lies before."""
    return (end - start + _HALF) % _WRAP - _HALF


class _Way:
    """The packets of one direction, as sent and as they arrived."""

    def __init__(self, sent: list[_Packet], arrived: list[_Packet]) -> None:
        self.sent, self.arrived = sent, arrived
        self._match(lambda each: (*each.key(), len(each.segment.payload)))
        # Of others, network cards change the size.
        self._match(lambda each: each.key() if each.segment.flags & SYN else None)
        self._match(lambda each: (*each.key()[:2], each.segment.flags & SYN or each.range()))

    def _match(self, key_of: Callable[[_Packet], object]) -> None:
        free: dict[object, list[_Packet]] = {}
        for each in self.arrived:
            if each.fellow is None and key_of(each) is not None:
                free.setdefault(key_of(each), []).append(each)
        for each in self.sent:
            key = key_of(each) if each.fellow is None else None
            if key is not None and (others := free.get(key)):
                other = next((one for one in others if _may_be_same(each, one)), None)
                if other is not None:
                    others.remove(other)
                    each.fellow, other.fellow = other, each

    def fastest(self) -> int | None:
        """ns that the clocks differ by, for the fastest packet."""
        found = [each.fellow.when - each.when for each in self.sent if each.fellow is not None]
        return min(found, default=None)

    def is_in(self, packet: _Packet, others: Sequence[_Packet]) -> bool:
        """Whether each byte of a segment without SYN and RST is in others that are paired with
        none: network cards join and cut segments."""
        if packet.segment.flags & (SYN | RST) or not packet.segment.payload:
            return False
        at, end = 0, len(packet.segment.payload)
        ranges = sorted(
            (_ahead(packet.segment.seq, other.segment.seq), len(other.segment.payload))
            for other in others
            if other.fellow is None and other.segment.payload and not other.segment.flags & SYN
        )
        for start, size in ranges:
            if start <= at < start + size:
                at = start + size
        return at >= end


def _may_be_same(one: _Packet, other: _Packet) -> bool:
    """Timestamps of both have to agree."""
    return None in (one.stamp, other.stamp) or one.stamp == other.stamp


class _Matched:
    """A connection, the packets of both captures paired."""

    def __init__(self, here: Connection, there: Connection) -> None:
        self.connection = here
        self.up = _Way(_from(here, here.client), _from(there, here.client))
        self.down = _Way(_from(there, here.server), _from(here, here.server))

    def compared(
        self, fastest: _Fastest, spans: tuple[tuple[int, int], tuple[int, int]]
    ) -> Compared:
        fates = [
            *self._fates(self.up, self.down, fastest.to_server, spans, to_server=True),
            *self._fates(self.down, self.up, fastest.to_client, spans[::-1], to_server=False),
        ]
        first = next(each for each in self.up.sent if each.segment.is_syn)
        return Compared(
            str(self.connection.client),
            str(self.connection.server),
            len(first.segment.payload),
            tuple(fates),
        )

    @staticmethod
    def _fates(
        way: _Way,
        back: _Way,
        fastest: int | None,
        spans: tuple[tuple[int, int], tuple[int, int]],
        *,
        to_server: bool,
    ) -> Iterable[Fate]:
        """spans: of the sender's capture and of the receiver's."""
        own, span = spans
        for each in way.sent:
            what = _name(each.segment)
            if each.fellow is None:
                is_covered = fastest is not None and span[0] <= each.when + fastest <= span[1]
                kind = DROPPED
                if way.is_in(each, way.arrived):
                    kind = PASSED
                elif not is_covered or _has_come(each, way, back):
                    kind = NOT_CAPTURED
                yield Fate(kind=kind, to_server=to_server, what=what, sent=each.number)
                continue
            delay = each.fellow.when - each.when - (fastest or 0)
            changes = tuple(_changes(each.segment, each.fellow.segment))
            kind = CHANGED if changes else DELAYED_KIND if delay > DELAYED else PASSED
            yield Fate(
                kind=kind,
                to_server=to_server,
                what=what,
                sent=each.number,
                arrived=each.fellow.number,
                delay=delay,
                changes=changes,
            )
        known = {each.key() for each in way.sent}
        for each in way.arrived:
            if each.fellow is None and not way.is_in(each, way.sent):
                kind = COPIED if each.key() in known else INVENTED
                is_covered = fastest is not None and own[0] <= each.when - fastest <= own[1]
                if kind == INVENTED and (not is_covered or _was_sent(each, way, fastest or 0)):
                    kind = NOT_CAPTURED
                what = _name(each.segment)
                yield Fate(kind=kind, to_server=to_server, what=what, arrived=each.number)


class _Fastest:
    """ns that the clocks differ by for the fastest packet of each direction, or None."""

    def __init__(self, matched: Sequence[_Matched]) -> None:
        up = [each.up.fastest() for each in matched]
        down = [each.down.fastest() for each in matched]
        self.to_server = min((each for each in up if each is not None), default=None)
        self.to_client = min((each for each in down if each is not None), default=None)


def _from(connection: Connection, end: object) -> list[_Packet]:
    return [
        _Packet(each.number, each.when, each.what)
        for each in connection.packets
        if isinstance(each.what, Segment) and each.src == end
    ]


def _has_come(packet: _Packet, way: _Way, back: _Way) -> bool:
    """Whether what the other end sent acknowledges something of it that nothing else had brought:
    it was only not captured there."""
    seq, length = packet.range()
    if not length:
        return False
    brought = [(_ahead(seq, other.range()[0]), other.range()[1]) for other in way.arrived]
    if any(start < length and start + size >= length for start, size in brought):
        return False
    return any(
        other.segment.flags & ACK and length <= _ahead(seq, other.segment.ack) < _HALF // 2
        for other in back.sent
    )


def _was_sent(packet: _Packet, way: _Way, fastest: int) -> bool:
    """Whether the sender's other packets go on where this one ends: it was only not captured there.
    Behind a RST nobody goes on."""
    if packet.segment.flags & RST:
        return not any(other.when > packet.when - fastest for other in way.sent)
    seq, length = packet.range()
    return any(
        not other.segment.flags & SYN and length <= _ahead(seq, other.segment.seq) < _HALF // 2
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


def _changes(sent: Segment, arrived: Segment) -> Iterable[str]:
    """What is different, beyond what each router changes."""
    if sent.flags != arrived.flags:
        yield "flags changed"
    if sent.flags & ACK and sent.ack != arrived.ack:
        yield f"acknowledgement moved by {_ahead(sent.ack, arrived.ack):+d}"
    if sent.window != arrived.window:
        yield f"window {sent.window} became {arrived.window}"
    if sent.payload != arrived.payload:
        if len(sent.payload) == len(arrived.payload):
            yield "data changed"
        else:
            yield f"{len(sent.payload)} bytes of data became {len(arrived.payload)}"
    if sent.options != arrived.options:
        yield from _option_changes(sent, arrived)


def _option_changes(sent: Segment, arrived: Segment) -> Iterable[str]:
    before, after = (
        {each.kind: each.data for each in opt.pull_options(segment.options) if each.kind > opt.NOP}
        for segment in (sent, arrived)
    )
    for kind in sorted(before.keys() | after.keys()):
        if before.get(kind) != after.get(kind):
            how = "removed" if kind not in after else "added" if kind not in before else "changed"
            yield f"option {kind} {how}"


def _pairs(matched: Sequence[_Matched], compared: Sequence[Compared]) -> Iterable[Pair]:
    found: dict[tuple[str, str], Pair] = {}
    for each, result in zip(matched, compared, strict=True):
        ends = str(each.connection.client.address), str(each.connection.server.address)
        pair = found.setdefault(ends, Pair(*ends))
        sizes = {one.number: len(one.segment.payload) for one in each.up.sent}
        for fate in result.fates:
            if fate.what != "SYN" or fate.sent is None or fate.kind == NOT_CAPTURED:
                continue
            dropped = fate.kind == DROPPED
            if sizes[fate.sent]:
                pair.with_data += 1
                pair.with_data_dropped += dropped
            else:
                pair.plain += 1
                pair.plain_dropped += dropped
    return found.values()
