"""What the peer of the judged end has done that could explain what that end does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv4Address

from scapy_tfo import option as opt
from scapy_tfo.address import Address
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.parts.came import NO_OPTIONS, options_of
from scapy_tfo.oracle.conduct.parts.challenge import Challenge
from scapy_tfo.oracle.conduct.parts.oddity import Oddity, Reset, kind_of_reset, oddity
from scapy_tfo.oracle.conduct.parts.place import Place
from scapy_tfo.oracle.conduct.parts.stamps import Stamps
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, Segment
from scapy_tfo.seq import before

_SOFT = {
    4: {(3, 0), (3, 1), (3, 5), (4, 0), (11, 0), (11, 1), (12, 0)},
    6: {(1, 0), (1, 3), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)},
}
"""Type and code of the errors that end no open connection (RFC 9293 section 3.9.2.2, MUST-54, 55
and 56; RFC 4443)."""
UNDER_WAY = 0.05
"""Seconds in which segments cross."""
_FAR = 1 << 30
"""Numbers that no window reaches."""
_TOO_BIG = {4: (3, 4), 6: (2, 0)}
_LEAST_MTU = {4: 68, 6: 1280}
_HARMLESS = frozenset((opt.NOP, opt.EOL, opt.TIMESTAMPS, opt.SACK, opt.TFO))
"""Kinds of options in segments without SYN, where that of Fast Open is ignored (RFC 7413 4.1.1)."""
_FLAGS = ACK | PSH | FIN
_MARKED_FLAGS = _FLAGS | ECE | CWR
_ALL = IPv4Address("255.255.255.255")
_REMEMBERED = 1024
"""Addresses of which it is remembered whether they are of a group."""


@dataclass(slots=True, eq=False)
class PeerRecord:
    """The peer, so far.

    plain: it has sent nothing that a stack may mind: one SYN, then text in order and within the
    window, acknowledgements of what came, a FIN, and what it sent before once more; or what it sent
    is over, as text behind it was acknowledged, and both ends know all of each other's. certain:
    its last segment, taken alone, is plain and not an old one: its acknowledgement is read.
    sent_at: when it sent last, None where times are not known; rest: how long it had been silent
    then. fresh: its last segment is plain and has text or a FIN that it had not sent before. idle:
    its last segment is an acknowledgement alone that says nothing new; widened: it is one that says
    nothing new but a larger window; idles, unanswered: how many idle ones in a row, and in all,
    since the other end sent something; asked: it sent something else, too. duplicates: how many in
    a row while text was under way; alike: the same, with text between them; inflation: in all.
    soft, hard: ICMP errors that it sent. mtu, mtu_at: of IPv6, as the last packet-too-big told it,
    and when. unlikely_mtu: one that no path has, or 0. told_again_at: when it told no less than
    before, if it did so last. reset_at: when it sent a RST that ends the connection for sure.
    group: it has only sent to or from a group of hosts. groups: how often. overlaps: it has sent
    text or a FIN more than once. credit: segments of its own that may have caused an ACK, less the
    empty ones that came. window: the field of its last segment; closed: it is 0 in that segment
    which a target goes by, whatever older ones come behind it (RFC 9293 section 3.10.7.4: SND.WL1
    and SND.WL2); shut_at: since when one of the two says so; goes_by: the field of that segment;
    ever_shut: any was 0. marked: the end of text that it sent marked CE, until it sends CWR.
    echoed: when it first sent ECE for text that was under way. old: the start of text that came
    with an acknowledgement too old to be believed. reset_by: which RST ended the connection. odd:
    the one thing in which its last segment is not plain, where all before it was. doubtful: that of
    text that must not be taken, where the text starts, and whether the connection was open. calm:
    nothing but RSTs far outside of the window, far_resets in number, keeps it from being plain.
    refused_at: when it reset a connection that was half open, refused_number: of that RST. sure:
    what it has acknowledged while it was plain, sure_at: when; settled: that of a while before.
    fin_end: the number behind its FIN. orderly: all is plain, but that text may come behind a gap.
    old_at: when text came last that may be old, and the time before; odd_at: when anything did that
    is not plain. round_trip: from the SYN-ACK to its first ACK, in seconds. syn_end: the number
    behind all of its SYNs and their text. acked: an ACK came behind its SYN that is near to it;
    far_ack: until then, the last one was far away.
    """

    plain: bool = True
    certain: bool = True
    sent_at: float | None = None
    fresh: bool = False
    idle: bool = False
    widened: bool = False
    duplicates: int = 0
    inflation: int = 0
    alike: int = 0
    soft: int = 0
    hard: int = 0
    mtu: int | None = None
    mtu_at: float = 0.0
    unlikely_mtu: int = 0
    told_again_at: float | None = None
    reset_at: float | None = None
    group: bool = True
    rest: float = 0.0
    overlaps: bool = False
    credit: int = 0
    syns: int = 0
    fin: bool = False
    groups: int = 0
    window: int | None = None
    closed: bool = False
    shut_at: float | None = None
    goes_by: int = 0
    ever_shut: bool = False
    marked: int | None = None
    echoed: float | None = None
    old: int | None = None
    reset_by: Reset = Reset.ALONE
    odd: Oddity | None = None
    doubtful: tuple[Oddity, int, bool] | None = None
    calm: bool = True
    far_resets: int = 0
    refused_at: float | None = None
    refused_number: int = 0
    sure: int = 0
    settled: int = 0
    sure_at: float | None = None
    orderly: bool = True
    stamps: Stamps = field(default_factory=Stamps)
    challenge: Challenge = field(default_factory=Challenge)
    old_at: tuple[float | None, float | None] = None, None
    odd_at: float | None = None
    round_trip: float | None = None
    syn_end: int = 0
    fin_end: int | None = None
    acked: bool = False
    far_ack: bool = False
    idles: int = 0
    unanswered: int = 0
    asked: bool = False
    _latest: int | None = None
    _told: tuple[int, int] = (0, 0)
    _perhaps: tuple[int, int] = (0, 0)
    _ends: tuple[Address, Address] | None = None
    _to_many: bool = False
    _odd_end: int = 0
    _odd_time: int | None = None
    _lasts: bool = False

    def error(self, error: IcmpError | None, at: float | None, *, is_calm: bool) -> None:
        """The peer, or a router, sent an ICMP error. None: which one is not known. is_calm: nothing
        of the judged end is under way."""
        if error is None:
            self.hard += 1
            return
        version = error.src.version
        kind = error.type, error.code
        if kind == _TOO_BIG[version] and error.mtu < _LEAST_MTU[version]:
            self.unlikely_mtu = error.mtu
        elif version == 6 and kind == _TOO_BIG[version] and at is not None:
            known = self.mtu or error.mtu + 1
            self.told_again_at = at if is_calm and error.mtu >= known else None
            self.mtu = min(known, error.mtu)
            self.mtu_at = at
        if kind in _SOFT[version]:
            self.soft += 1
        else:
            self.hard += 1

    def heard(self, *, echoes: bool, empty: bool) -> None:
        """A segment of the judged end came. echoes: it only answers an ACK. empty: it says nothing
        new."""
        self.idles = self.idles - 1 if echoes else 0
        self.unanswered, self.asked = 0, False
        self.challenge.heard(empty=empty)

    def take(self, segment: Segment, at: float | None, place: Place) -> None:
        """The peer sends a segment."""
        flags = segment.flags
        to_many = self._is_to_many(segment)
        self.groups += to_many
        self.group = self.group and to_many
        self.rest = at - self.sent_at if at is not None and self.sent_at is not None else 0.0
        self.sent_at = at
        again = bool(place.length) and place.start < place.next
        self.overlaps = self.overlaps or again or segment.checksum is not None
        if place.may_be_old:
            self.old_at = at, self.old_at[0]
        before_it, plain = self.plain, self._is_plain(segment, place)
        if flags & RST:
            self._reset(segment, at, place, plain=plain)
        else:
            self.calm = self.calm and plain
        if plain and not before_it and self._is_over(segment, place):
            before_it = True
        elif not plain or flags & RST:
            self.odd_at = at
            self._note_oddity(segment, place)
        self.plain = before_it and plain and not flags & RST
        if self.orderly:
            self.orderly = self._is_orderly(segment, place, plain=plain)
        is_odd = before_it and (not plain or bool(flags & RST))
        self.odd = oddity(segment, place, self._is_plain) if is_odd else None
        self.challenge.sent(self.odd, plain=plain and not flags & RST, rest=self.rest)
        if place.ack is not None and not self.acked and not flags & (SYN | RST):
            far = abs(place.start - place.next) >= _FAR
            self.acked, self.far_ack = not far, far
        self.certain = plain and not place.may_be_old
        if self.plain and self.certain and place.ack is not None and place.ack > self.sure:
            self._learn_sure(place.ack, at)
        if segment.payload or flags & FIN or not self.plain:
            self.credit += 1
        if flags & SYN:
            self.syns += 1
        self._count(segment, place)
        if flags & (ECE | CWR) or segment.traffic_class:
            self._note_marks(segment, at, place)
        if segment.payload or flags & FIN:
            self._note_text(segment, place, again=again)
        self.window = segment.window
        self.ever_shut = self.ever_shut or not segment.window
        if place.ack is not None and not flags & (SYN | RST):
            self._learn_window(segment, place, place.ack)
        if self.window and not self.closed:
            self.shut_at = None
        elif self.shut_at is None:
            self.shut_at = at

    def _learn_window(self, segment: Segment, place: Place, ack: int) -> None:
        """Which window the other end goes by (RFC 9293 section 3.10.7.4: SND.WL1 and SND.WL2)."""
        far = abs(place.start - place.next) >= _FAR
        doubtful = not place.is_acceptable and (place.open or far)
        if doubtful or place.may_be_old or ack < place.una:
            # An end whose window shrinks may take it all the same, and then no older one.
            self._perhaps = place.start, segment.window
        elif self._told <= (place.start, ack):
            self._told = place.start, ack
            later = self._perhaps[1] if place.start < self._perhaps[0] else 0
            self.goes_by, self.closed = max(segment.window, later), not segment.window

    def _note_text(self, segment: Segment, place: Place, *, again: bool) -> None:
        if segment.payload:
            self.old = place.start if place.acknowledges_too_little and not again else None
            must_not = self.odd in (Oddity.NO_ACK, Oddity.AHEAD, Oddity.CHECKSUM)
            self.doubtful = (self.odd, place.start, place.open) if must_not and self.odd else None
        else:
            # The number of a FIN may be acknowledged.
            self.old = self.doubtful = None
        if not segment.flags & FIN:
            return
        if self.plain and self.fin_end is None:
            end = place.start + place.length
            # One inside of text that was sent, if only in a SYN, is an old one; one beyond the
            # window, as of a SYN-ACK without any, may be refused.
            is_new = end > max(place.next, place.taken, self.syn_end)
            is_let_in = place.edge is not None and end <= place.edge
            self.fin_end = end if is_new and is_let_in else None
        self.fin = True

    def _reset(self, segment: Segment, at: float | None, place: Place, *, plain: bool) -> None:
        """It sends a RST."""
        far = abs(place.start - place.next) >= _FAR
        self.far_resets += far
        self.calm = self.calm and plain and far
        exact = place.start == place.next and at is not None
        by = Reset.TIMES if self.plain and self._has_old_times(segment, place) else None
        if plain and not by:
            by = kind_of_reset(segment, place)
        if not (self.plain and exact and by) or self.reset_at is not None:
            return
        if place.open:
            self.reset_at, self.reset_by = at, by
        elif by is Reset.ALONE and self.refused_at is None:
            self.refused_at, self.refused_number = at, place.start

    def _note_oddity(self, segment: Segment, place: Place) -> None:
        """It sends what a stack may mind."""
        # The end of a connection, and a route that is given, may have effects for ever.
        self._lasts = self._lasts or bool(segment.flags & (RST | FIN) or segment.extensions)
        self._odd_end = max(place.last, place.start + place.length)
        times = options_of(segment.options).times
        if times is not None and (self._odd_time is None or before(self._odd_time, times[0])):
            self._odd_time = times[0]

    def _is_over(self, segment: Segment, place: Place) -> bool:
        """Whether no odd segment has an effect any more when this one comes, which is not odd."""
        if self._lasts or self.fin or not place.open:
            return False
        known = place.taken == place.next == place.last > self._odd_end
        if not known or place.ack != place.end:
            return False
        times = options_of(segment.options).times
        return self._odd_time is None or (
            times is not None and not before(times[0], self._odd_time)
        )

    def _learn_sure(self, ack: int, at: float | None) -> None:
        if at is not None and self.sure_at is not None and at - self.sure_at > UNDER_WAY:
            self.settled = self.sure
        self.sure, self.sure_at = ack, at

    def _is_orderly(self, segment: Segment, place: Place, *, plain: bool) -> bool:
        if segment.flags & RST:
            return False
        gap = place.start > place.next
        return plain or (gap and self._is_plain(segment, replace(place, next=place.start)))

    def _has_old_times(self, segment: Segment, place: Place) -> bool:
        """Whether nothing but its timestamp is wrong with a RST: older than the latest."""
        times = options_of(segment.options).times
        if not place.times or times is None or self._latest is None:
            return False
        if place.length or not before(times[0], self._latest):
            return False
        return self._is_plain(replace(segment, options=b""), replace(place, times=False))

    def _count(self, segment: Segment, place: Place) -> None:
        text = bool(segment.payload or segment.flags & FIN)
        ack = place.ack
        self.fresh = self.idle = self.widened = False
        if self.plain and not segment.flags & SYN:
            if text:
                fits = place.edge is None or place.start + place.length <= place.edge
                self.fresh = fits and place.start + place.length > place.next
            else:
                alike = ack == place.una and place.open
                self.idle = alike and segment.window == self.window
                self.widened = alike and segment.window > (self.window or 0)
        if ack is not None and ack > place.una:
            self.alike = 0
        if not self.idle:
            # What else it sends is a reason for the ACKs that follow.
            self.idles, self.duplicates, self.asked = 0, 0, True
            return
        self.idles, self.unanswered = self.idles + 1, self.unanswered + 1
        # Text that the ACK before this one let out may be under way by now.
        self.inflation += 1
        if place.end > place.una:
            self.duplicates += 1
            self.alike += 1

    def _note_marks(self, segment: Segment, at: float | None, place: Place) -> None:
        if segment.flags & CWR:
            self.marked = None
        if self.fresh and segment.payload and segment.traffic_class & 3 == 3:
            self.marked = place.start + segment.length
        if not segment.flags & ECE or self.echoed is not None or place.may_be_old:
            return
        new = place.ack is not None and place.end > place.una and place.ack > place.una
        if place.ecn and self.plain and new:
            self.echoed = at

    def _is_to_many(self, segment: Segment) -> bool:
        """Whether it comes from a group of hosts, or goes to one: most have the same ends as that
        before them."""
        ends = self._ends
        if ends is None or ends[0] is not segment.src or ends[1] is not segment.dst:
            self._ends = segment.src, segment.dst
            self._to_many = _is_a_group(segment.src) or _is_a_group(segment.dst)
        return self._to_many

    def _is_plain(self, segment: Segment, place: Place) -> bool:
        sound = (
            segment.checksum is None
            and segment.data_offset is None
            and not (segment.reserved or segment.urgent or segment.extensions)
            and segment.hop_limit > 1
            and not self._is_to_many(segment)
        )
        if not sound:
            return False
        options = options_of(segment.options) if segment.options else NO_OPTIONS
        times, flags = options.times, segment.flags
        if flags & SYN:
            if times is not None:
                # What is older than the SYN is dropped (RFC 7323 section 5.3).
                self._latest = times[0]
            return self.syns == 0 and flags & ~(ECE | CWR) == SYN
        if not options.kinds <= _HARMLESS or (times is not None) != place.times:
            return False
        if times is not None:
            if self._latest is not None and before(times[0], self._latest):
                return False
            self._latest = times[0]
        ack = place.ack
        if flags & RST:
            return (ack is not None and place.una <= ack <= place.end) or not flags & ACK
        if flags & ~(_MARKED_FLAGS if place.ecn else _FLAGS) or ack is None:
            return False
        if not max(place.una, 1) <= ack <= place.end:
            return False
        return self._is_in_turn(place)

    def _is_in_turn(self, place: Place) -> bool:
        start, length, following = place.start, place.length, place.next
        if self.fin and start + length > following:
            return False
        if not length:
            return start == following
        edge = following if place.edge is None else place.edge
        if length == 1 and start == following == edge:
            # A probe of a closed window.
            return True
        return 1 <= start <= following and start + length <= max(edge, following)


@lru_cache(_REMEMBERED)
def _is_a_group(address: Address) -> bool:
    return address.is_multicast or address == _ALL
