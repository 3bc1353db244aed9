"""Sorts the segments of a capture into TCP connections, each with its initiator and its case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address

from scapy_tfo.address import Address, known_address
from scapy_tfo.capture.annotations import Change, changes_in
from scapy_tfo.capture.link_types import UnknownLinkError, ip_packet
from scapy_tfo.capture.reader import Frame
from scapy_tfo.errors import SetupError
from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import ACK, FIN, PSH, SYN, MalformedPacketError, Segment, endpoint

_OURS = re.compile(
    r"(?:sent by|for) (\S+) \[ipv[46]\](?:, attempt (\d+))?(?:(?:: |; )(.*))?", re.DOTALL
)
_BETWEEN_CASES = re.compile(
    r"(?:sent by|for) (?:control (?:handshake|request|fast open)|search for) ?\b"
)
_NOBODY = re.compile(r"for no case\b")
_CLEARING = "clearing up"
_TCP = 6
_AT_ONCE = 1_000_000
"""ns between the parts of what was sent in one go, less than this."""

_LARGEST = 60_000
"""Bytes of data in one packet of a script."""

CONTROL = "control handshake"
"""In place of a case: what shows that a target still answers."""


@dataclass(frozen=True, slots=True, order=True)
class End:
    """One side of a connection."""

    address: Address
    port: int

    def __str__(self) -> str:
        return endpoint(self.address, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A segment, or an ICMP error about one, of a capture.

    number: of its frame. when: ns since the epoch. An error comes, as it were, from where the
    segment went. case: who sent or judged it, or CONTROL, "" where nobody did or it is not told;
    note: what else was said of it. cut: not all of it was captured; its data is taken for zeros.
    changes: in the target, before it. attempt: of the case, counted from 1.
    """

    number: int
    when: int
    src: End
    dst: End
    what: Segment | IcmpError
    outbound: bool | None = None
    case: str = ""
    note: str = ""
    cut: bool = False
    changes: tuple[Change, ...] = ()
    attempt: int = 1


@dataclass(slots=True)
class Connection:
    """Packets between two ends in the capture's order. client: who sent the first SYN. case,
    attempt: as of its packets."""

    client: End
    server: End
    packets: list[Captured] = field(default_factory=list)
    case: str = ""
    attempt: int = 1

    @property
    def flow(self) -> str:
        """`src:port>dst:port`, from the client."""
        return f"{self.client}>{self.server}"

    @property
    def is_of_a_client(self) -> bool:
        """Its server is who captured it, so its client is what was looked at."""
        known = [each for each in self.packets if each.outbound is not None]
        return any((each.src == self.server) is each.outbound for each in known)

    @property
    def family(self) -> int:
        """4 or 6."""
        return 4 if isinstance(self.client.address, IPv4Address) else 6


def captured(frames: Iterable[Frame], name: str) -> list[Captured]:
    """What of a capture is TCP. name: of the file, for the message.

    Raises SetupError where a link type is not known, or a TCP header was not captured whole.
    """
    found = []
    for frame in frames:
        try:
            packet = ip_packet(frame.link, frame.data)
        except UnknownLinkError as error:
            raise SetupError(f"{name}, frame {frame.number}: {error}") from error
        each = _read(frame, packet, name) if packet is not None else None
        if each is not None:
            found.append(each)
    return found


def _read(frame: Frame, packet: bytes, name: str) -> Captured | None:
    cut = bool(frame.missing) and _is_tcp(packet)
    if cut and not _has_whole_header(packet):
        raise SetupError(
            f"{name}, frame {frame.number}: the TCP header was not captured whole:"
            " capture whole packets ('tcpdump -s 0')"
        )
    what: Segment | IcmpError | None
    try:
        what = Segment.from_bytes(packet + bytes(frame.missing))
    except MalformedPacketError:
        what = IcmpError.from_bytes(packet)
    if isinstance(what, Segment):
        src, dst = End(what.src, what.sport), End(what.dst, what.dport)
        # What it was summed up over is not there any more.
        what = replace(what, checksum=None) if cut else what
    else:
        ends = quoted_ends(what) if what is not None else None
        if what is None or ends is None:
            return None
        dst, src = ends
    case, attempt, note = _owner(frame.comment)
    changes, note = changes_in(note)
    return Captured(
        number=frame.number,
        when=frame.when,
        src=src,
        dst=dst,
        what=what,
        outbound=frame.outbound,
        case=case,
        note=note,
        cut=cut,
        changes=changes,
        attempt=attempt,
    )


def _owner(comment: str) -> tuple[str, int, str]:
    """Case, its attempt and note of a packet's comment, as this project's own captures have
    them."""
    told = _OURS.fullmatch(comment)
    if told:
        return told[1], int(told[2] or 1), told[3] or ""
    if _BETWEEN_CASES.match(comment):
        return CONTROL, 1, ""
    return "", 1, "" if _NOBODY.match(comment) else comment


def _is_tcp(packet: bytes) -> bool:
    at = 9 if packet[0] >> 4 == 4 else 6
    return packet[at : at + 1] == bytes([_TCP])


def _has_whole_header(packet: bytes) -> bool:
    start = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
    if len(packet) < start + 20:
        return False
    return len(packet) >= start + (packet[start + 12] >> 4) * 4


def quoted_ends(error: IcmpError) -> tuple[End, End] | None:
    """Source and destination of the segment that it complains about."""
    quoted = error.quoted
    if not quoted or not _is_tcp(quoted):
        return None
    start, at, size = ((quoted[0] & 15) * 4, 12, 4) if quoted[0] >> 4 == 4 else (40, 8, 16)
    if len(quoted) < start + 8:
        return None
    source, destination = (known_address(quoted[begin : begin + size]) for begin in (at, at + size))
    ports = [int.from_bytes(quoted[begin : begin + 2], "big") for begin in (start, start + 2)]
    return End(source, ports[0]), End(destination, ports[1])


def connections(packets: Sequence[Captured]) -> list[Connection]:
    """The connections, in the order of their first packets.

    The same two ends make another connection where another case uses them.
    """
    found: list[Connection] = []
    open_: dict[tuple[End, ...], Connection] = {}
    for packet in packets:
        key = tuple(sorted((packet.src, packet.dst), key=str))
        current = open_.get(key)
        run = packet.case, packet.attempt
        is_new = current is None or (
            packet.case and current.case and run != (current.case, current.attempt)
        )
        if current is None or is_new:
            current = open_[key] = Connection(packet.src, packet.dst)
            found.append(current)
        current.packets.append(packet)
        if packet.case:
            current.case, current.attempt = run
    for connection in found:
        connection.client, connection.server = _roles(connection.packets)
    return found


def _roles(packets: Sequence[Captured]) -> tuple[End, End]:
    """Client and server: by the first SYN, else by whose case it was, else by who captured, else by
    who spoke first."""
    for each in packets:
        if isinstance(each.what, Segment) and each.what.flags & SYN:
            return (each.src, each.dst) if each.what.is_syn else (each.dst, each.src)
    for each in packets:
        if each.case and each.outbound is not None:
            return (each.src, each.dst) if each.outbound else (each.dst, each.src)
    first = packets[0]
    return (first.dst, first.src) if first.outbound is False else (first.src, first.dst)


def apart(connection: Connection, target: End) -> list[Connection]:
    """One for each ISN of the target: two ends may have several connections, one after another."""
    found = [_with(connection, [])]
    isn: int | None = None
    began = 0
    for packet in connection.packets:
        current = found[-1].packets
        segment = packet.what
        if isinstance(segment, Segment) and segment.flags & SYN:
            if packet.src != target and segment.is_syn:
                began = len(current)
            elif packet.src == target:
                if isn is not None and segment.seq != isn:
                    start = began if segment.is_syn_ack else len(current)
                    found.append(_with(connection, current[start:]))
                    del current[start:]
                    began = 0
                isn = segment.seq
        found[-1].packets.append(packet)
    return found


def joined(connection: Connection, target: End) -> Connection:
    """With what the target sent in one go as one segment: a device of a script's own is handed it
    undivided."""
    found: list[Captured] = []
    full = 0
    last = 0
    for packet in connection.packets:
        before = found[-1] if found else None
        at_once = packet.src == target and packet.when - last < _AT_ONCE
        last = packet.when
        if before is not None and at_once and _goes_on(before, packet, full):
            found[-1] = _join(before, packet)
            continue
        found.append(packet)
        full = len(packet.what.payload) if isinstance(packet.what, Segment) else 0
    return _with(connection, found)


def _goes_on(before: Captured, packet: Captured, full: int) -> bool:
    """Whether it could be the next part of the same. full: bytes of data in the first part."""
    one, other = before.what, packet.what
    if before.src != packet.src or not isinstance(one, Segment) or not isinstance(other, Segment):
        return False
    return (
        one.flags == other.flags & ~(PSH | FIN) == ACK
        and one.end == other.seq
        and (one.ack, one.options, one.window) == (other.ack, other.options, other.window)
        and 0 < len(other.payload) <= full
        and len(one.payload) % full == 0
        and len(one.payload) + len(other.payload) <= _LARGEST
    )


def _join(before: Captured, packet: Captured) -> Captured:
    assert isinstance(before.what, Segment)
    assert isinstance(packet.what, Segment)
    what = replace(
        packet.what, seq=before.what.seq, payload=before.what.payload + packet.what.payload
    )
    notes = "; ".join(filter(None, (before.note, packet.note)))
    return replace(before, what=what, note=notes, cut=before.cut or packet.cut)


def without_clearing_up(connection: Connection) -> Connection:
    """Without what a run did to a connection when its case was over, and what came of that."""
    packets = connection.packets
    last = max((at for at, each in enumerate(packets) if _is_of_case(each)), default=-1)
    stop = next(
        (at for at in range(last + 1, len(packets)) if packets[at].note.startswith(_CLEARING)),
        len(packets),
    )
    return _with(connection, packets[:stop])


def _is_of_case(packet: Captured) -> bool:
    return packet.outbound is True and not packet.note.startswith(_CLEARING)


def _with(connection: Connection, packets: list[Captured]) -> Connection:
    return replace(connection, packets=packets)
