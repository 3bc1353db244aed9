"""What the peer of the judged end has done that could explain what that end does."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, Segment
from scapy_tfo.seq import before

_SOFT = {
    4: {(3, 0), (3, 1), (3, 5), (4, 0), (11, 0), (11, 1), (12, 0)},
    6: {(1, 0), (1, 3), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)},
}
"""Type and code of the errors that end no open connection (RFC 9293 section 3.9.2.2, MUST-54, 55
and 56; RFC 4443)."""
_TOO_BIG = (2, 0)
_LEAST_MTU = 1280
_HARMLESS = {opt.NOP, opt.EOL, opt.TIMESTAMPS, opt.SACK}
_FLAGS = ACK | PSH | FIN
_LARGEST_WINDOW = 65_535 << 12
"""An acknowledgement older than that is not to be believed, unless the window is scaled by more
(RFC 5961 section 5.2)."""


@dataclass(slots=True)
class Place:
    """Where a segment of the peer stands, in relative numbers.

    start: of its text. next: of the text that the peer has sent so far without a gap. ack: None
    without one. una, end: what the peer has acknowledged before, and the end of what came. taken:
    what the judged end has acknowledged. edge: the right edge of its window. times: agreed on. ecn:
    likewise. open: a segment behind the SYN-ACK has come.
    """

    start: int
    next: int
    ack: int | None
    una: int
    end: int
    taken: int
    edge: int | None
    times: bool
    ecn: bool
    open: bool


class PeerRecord:
    """The peer, so far.

    plain: it has sent nothing that a stack may mind: one SYN, then text in order and within the
    window, acknowledgements of what came, a FIN, and what it sent before once more. sent_at: when
    it sent last, None where times are not known. fresh: its last segment is plain and has text or a
    FIN that it had not sent before. idle: its last segment is an acknowledgement alone that says
    nothing new; idles, unanswered: how many of them in a row, and in all, since the other end sent
    something. duplicates: how many in a row while text was under way; inflation: in all. soft,
    hard: ICMP errors that it sent. mtu, mtu_at: of IPv6, as the last packet-too-big told it, and
    when. reset_at: when it sent a RST that ends the connection for sure. group: it has only sent to
    or from a group of hosts. groups: how often. overlaps: it has sent text or a FIN more than once.
    credit: segments of its own that may have caused an ACK, less the empty ones that came. window:
    the field of its last segment. marked: the end of text that it sent marked CE, until it sends
    CWR. echoed: when it first sent ECE for text that was under way. old: the start of text that
    came with an acknowledgement too old to be believed. by_text: it ended the connection by a RST
    with text.
    """

    def __init__(self) -> None:
        self.plain = True
        self.sent_at: float | None = None
        self.fresh = self.idle = False
        self.duplicates = self.inflation = 0
        self.soft = self.hard = 0
        self.mtu: int | None = None
        self.mtu_at = 0.0
        self.reset_at: float | None = None
        self.group = True
        self.overlaps = False
        self.credit = 0
        self.syns = 0
        self.fin = False
        self.groups = 0
        self.window: int | None = None
        self.marked: int | None = None
        self.echoed: float | None = None
        self.old: int | None = None
        self.by_text = False
        self.idles = self.unanswered = 0
        self._latest: int | None = None

    def error(self, error: IcmpError | None, at: float | None) -> None:
        """The peer, or a router, sent an ICMP error. None: which one is not known."""
        if error is None:
            self.hard += 1
            return
        version = error.src.version
        kind = error.type, error.code
        if version == 6 and kind == _TOO_BIG and error.mtu >= _LEAST_MTU and at is not None:
            self.mtu = min(self.mtu or error.mtu, error.mtu)
            self.mtu_at = at
        if kind in _SOFT[version]:
            self.soft += 1
        else:
            self.hard += 1

    def take(self, segment: Segment, at: float | None, place: Place) -> None:
        """The peer sends a segment."""
        flags = segment.flags
        group = _is_group(segment.src) or _is_group(segment.dst)
        self.group, self.groups = self.group and group, self.groups + group
        self.sent_at = at
        again = bool(segment.length) and place.start < place.next
        self.overlaps = self.overlaps or again or segment.checksum is not None
        before_it = self.plain
        plain = self._is_plain(segment, place)
        if flags & RST and before_it and plain and place.open and self.reset_at is None:
            exact = place.start == place.next == place.taken
            self.reset_at, self.by_text = at if exact else None, bool(segment.payload)
        self.plain = before_it and plain and not flags & RST
        self.credit += bool(segment.payload or flags & FIN) or not self.plain
        self.syns += bool(flags & SYN)
        self._count(segment, place, again=again)
        self._note_marks(segment, at, place)
        if segment.payload:
            self.old = place.start if _is_old(place) and not again else None
        self.fin = self.fin or bool(flags & FIN)
        self.window = segment.window

    def _count(self, segment: Segment, place: Place, *, again: bool) -> None:
        text = bool(segment.payload or segment.flags & FIN)
        fits = place.edge is None or place.start + segment.length <= place.edge
        self.fresh = self.idle = False
        if self.plain and not segment.flags & SYN:
            self.fresh = text and not again and fits
            same = segment.window == self.window and place.ack == place.una
            self.idle = not text and same and place.open
        # What else it sends is a reason for the ACKs that follow.
        self.idles = self.idles + 1 if self.idle else 0
        self.unanswered += self.idle
        if self.idle and place.end > place.una:
            self.duplicates += 1
            self.inflation += 1
        elif place.ack is None or place.ack > place.una or not self.idle:
            self.duplicates = 0

    def _note_marks(self, segment: Segment, at: float | None, place: Place) -> None:
        if segment.flags & CWR:
            self.marked = None
        if self.fresh and segment.payload and segment.traffic_class & 3 == 3:
            self.marked = place.start + segment.length
        new = place.ack is not None and place.end > place.una and place.ack > place.una
        if place.ecn and self.plain and segment.flags & ECE and new and self.echoed is None:
            self.echoed = at

    def _is_plain(self, segment: Segment, place: Place) -> bool:
        sound = (
            segment.checksum is None
            and segment.data_offset is None
            and not (segment.reserved or segment.urgent or segment.extensions)
            and segment.hop_limit > 1
            and not (_is_group(segment.src) or _is_group(segment.dst))
        )
        if not sound:
            return False
        if segment.flags & SYN:
            return self.syns == 0 and segment.flags & ~(ECE | CWR) == SYN
        times = segment.timestamps if segment.options else None
        kinds = {each.kind for each in opt.pull_options(segment.options) if segment.options}
        if not kinds <= _HARMLESS or (times is not None) != place.times:
            return False
        if times is not None:
            if self._latest is not None and before(times[0], self._latest):
                return False
            self._latest = times[0]
        if segment.flags & RST:
            known = place.ack is not None and place.una <= place.ack <= place.end
            return known or not segment.flags & ACK
        allowed = _FLAGS | (ECE | CWR if place.ecn else 0)
        if segment.flags & ~allowed or not segment.flags & ACK:
            return False
        if place.ack is None or not max(place.una, 1) <= place.ack <= place.end:
            return False
        return self._is_in_turn(segment, place)

    def _is_in_turn(self, segment: Segment, place: Place) -> bool:
        end = place.start + segment.length
        if self.fin and end > place.next:
            return False
        if not segment.length:
            return place.start == place.next
        edge = place.next if place.edge is None else place.edge
        if segment.length == 1 and place.start == place.next == edge:
            # A probe of a closed window.
            return True
        return place.start >= 1 and place.start <= place.next and end <= max(edge, place.next)


def _is_old(place: Place) -> bool:
    return place.ack is not None and place.ack < place.una - _LARGEST_WINDOW


def _is_group(address: object) -> bool:
    return bool(getattr(address, "is_multicast", False)) or str(address) == "255.255.255.255"
