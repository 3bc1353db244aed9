"""What is known of a connection, as it stands."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.parts.came import Came, Offered
from scapy_tfo.oracle.conduct.parts.intake import Intake
from scapy_tfo.oracle.conduct.parts.peer_record import PeerRecord
from scapy_tfo.oracle.conduct.parts.pieces import Numbers, Pieces
from scapy_tfo.oracle.conduct.parts.place import Place
from scapy_tfo.oracle.conduct.parts.rounds import Rounds
from scapy_tfo.segment import ACK, ECE, FIN, PSH, RST, SYN, Segment
from scapy_tfo.seq import before, distance

DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, without an MSS option (RFC 9293 section 3.7.1)."""
MOST_SHIFT = 14
"""RFC 7323 section 2.3."""
PROMPT = 0.2
"""Seconds within which an ACK makes no round trip look long, and from which on a timer may be the
cause of what comes."""
_PROBE_AFTER = 0.001
"""Seconds of silence that a tail loss probe ends, two round trips at least."""
BLOCK = struct.Struct("!II")
"""Edges of a block of SACK."""
_EARLIER = 0.1
"""Seconds before a packet in which a stall may have held it up."""
_QUOTED_SEQ = 44
"""Where the sequence number stands behind a header of IPv6."""


@dataclass(slots=True, eq=False)
class Facts:
    """One connection, from its first packet on.

    complete: every packet of the peer is known. ordered: packets come in the order in which they
    were sent. whole: segments come as they were sent, and no interface puts several into one.
    opens: the judged end connects, and sends the first SYN. contents: the bytes of its text are
    known. mixed: its packets belong to more than one incarnation, or nobody can tell. syns: of the
    peer. answer: the first SYN of the judged end, a SYN-ACK unless it connects. times_agreed: both
    SYNs carried timestamps (RFC 7323 section 3.2). their_shift: of the windows of the judged end,
    behind its SYN-ACK. edge: the right edge of the window that the judged end offers. sent, theirs:
    the streams of the peer and of the judged end. binding: what the judged end cannot refuse of the
    first: all but the data of a SYN, until that is acknowledged. limit: the right edge of the
    largest window that the peer offered. their_una: what the peer acknowledged of the text that
    came. ahead: and of what may have been on its way. best: the youngest segment of the judged end.
    heard_at: when the last one came. spoke_since, interrupted: whether the peer has sent something
    since then, and since the first text. repeated: either end has sent something again. reported:
    what the blocks of the judged end named. stalled_at: when packets were last read later than they
    came. repeats, gaps: the text that came last, when it did, and the seconds between its copies,
    while the peer says nothing. resets, errors: RSTs of the peer, and ICMP errors. may_be_over: a
    SYN that comes now may open another connection. peer: what else it did. steady: the application
    of the judged end reads, answers, and closes after its peer has. grace: seconds that its host
    may be late. wary: acknowledgements that need not be read are taken for unread. reads, writes:
    whether that application reads, and has text that waits; None where nobody knows. stopped: what
    was acknowledged when it stopped reading, and which window it offered. reads_since: when it
    began again, until the peer has sent text to it. burst: when a timer sent text again, and the
    bytes sent since, and their end; None once the peer has spoken. handshakes: when each SYN-ACK
    came. probes: when each segment came that a closed window lets through. reset: its last RST.
    acks_at: when its empty ACKs came. echoes: how many in a row answered nothing but an ACK.
    text_at: when its newest text came; shortest_trip: the least time in which the peer acknowledged
    any. slow: the peer has let text wait for its ACK. segments: with text, that came first; grown:
    by how many its window may have grown. deflated: how many duplicate ACKs had come when all text
    was acknowledged last. fin_acked_at: when its FIN was acknowledged. closed_first: it sent its
    FIN before the peer did. time_wait: when that state began. reported_beside: the acknowledgement
    beside which it reported blocks. duplicate: the last one that it reported. after_echo: whether
    each new text since ECE had CWR. shrank: the right edge of its window has moved back.
    identified: the last packet that routers may cut; same_ids: how many in a row differed from the
    one before, and not in its identification. fitted_at: when text came last that fills a path of
    which a router told. sent_at: when its latest segments with text came, by where they start; none
    once some came twice. far_edge: the furthest right edge that the peer offered behind its SYN;
    narrowed: it offered less later; taken_back: the one that it offers now, and since when, while
    that is to the left of it. closes: the application of the judged end closes as soon as it has
    written. has_more: it has written more than any window lets out. intake: how that end takes
    text. acked_while_shut: what the peer acknowledged last while the window of that end was closed,
    and when. rounds: set while that end avoids congestion as in RFC 5681, or has no reason to slow.
    refuses_ecn: one of its SYN-ACKs does not agree to ECN.
    """

    complete: bool = True
    ordered: bool = False
    whole: bool = True
    opens: bool = False
    steady: bool = False
    grace: float = 0.0
    wary: bool = False
    contents: bool = True
    mixed: bool = False
    isn: int | None = None
    iss: int | None = None
    family: int = 4
    syns: int = 0
    offered: Offered = field(default_factory=Offered)
    answer: Came | None = None
    times_agreed: bool = False
    their_shift: int = 0
    edge: int | None = None
    sent: Pieces = field(default_factory=Pieces)
    binding: Pieces = field(default_factory=Pieces)
    theirs: Pieces = field(default_factory=Pieces)
    their_fin: int | None = None
    acks: Numbers = field(default_factory=Numbers)
    limit: int | None = None
    their_una: int = 0
    ahead: int = 0
    tsvals: Numbers = field(default_factory=Numbers)
    ends: Numbers = field(default_factory=Numbers)
    last_sent: list[Segment] = field(default_factory=list)
    has_ce: bool = False
    resets: int = 0
    errors: int = 0
    best: Came | None = None
    gaps: tuple[float, ...] = ()
    repeats: tuple[int, float] | None = None
    heard_at: float | None = None
    peer: PeerRecord = field(default_factory=PeerRecord)
    reads: bool | None = None
    writes: bool | None = None
    stopped: int | None = None
    stopped_window: int = 0
    reads_since: float | None = None
    probed_at: float | None = None
    label: int = -1
    relabelled: bool = False
    shrank: bool = False
    identified: Came | None = None
    same_ids: int = 0
    fitted_at: float | None = None
    burst: tuple[float, int, int] | None = None
    handshakes: tuple[float, ...] = ()
    probes: tuple[float, ...] = ()
    reset: Came | None = None
    acks_at: list[float] = field(default_factory=list)
    echoes: int = 0
    text_at: float = 0.0
    shortest_trip: float = math.inf
    slow: bool = False
    closed_first: bool = False
    segments: int = 0
    grown: int = 0
    deflated: int = 0
    fin_acked_at: float | None = None
    time_wait: float | None = None
    reported: Pieces = field(default_factory=Pieces)
    reported_beside: int | None = None
    stalled_at: float = -math.inf
    may_be_over: bool = False
    duplicate: tuple[int, int] | None = None
    after_echo: list[bool] = field(default_factory=list)
    interrupted: bool = False
    repeated: bool = False
    sent_at: dict[int, float] = field(default_factory=dict)
    far_edge: int = 0
    narrowed: bool = False
    taken_back: tuple[int, float] | None = None
    spoke_since: bool = False
    closes: bool = False
    has_more: bool = False
    intake: Intake = field(default_factory=Intake)
    acked_while_shut: tuple[int, float] | None = None
    rounds: Rounds | None = None
    refuses_ecn: bool = False

    def agree(self) -> None:
        """Work out what both ends agreed on, once a SYN of either tells more, and what that makes
        of the window."""
        offered, answer = self.offered, self.answer
        self.times_agreed = offered.times and answer is not None and answer.times is not None
        scale = answer.options.get(opt.WINDOW_SCALE) if answer and offered.scaled else None
        self.their_shift = min(scale.data[0], MOST_SHIFT) if scale and scale.data else 0
        self.learn_edge()

    @property
    def crossing_duplicates(self) -> int:
        """ACKs behind that of the handshake, before any text of the judged end: each may let a
        segment out, as it may have crossed that text (RFC 5681 section 3.2)."""
        behind = [each for each in self.last_sent if not each.flags & SYN][1:]
        return sum(not each.payload and each.flags & ~PSH == ACK for each in behind)

    def learn_edge(self) -> None:
        """Work out the right edge of the window that the judged end offers."""
        best = self.best
        if best is None or best.ack is None:
            self.edge = None
            return
        self.edge = best.ack + (
            best.segment.window << (0 if best.flags & SYN else self.their_shift)
        )

    def learn_shrink(self, edge: int, *, is_new: bool) -> None:
        """Note where the window of the peer ends now. is_new: it comes with an acknowledgement of
        more, without which some stacks take no smaller one."""
        at, back = self.peer.sent_at, self.taken_back
        shrinks = edge + (1 << self.offered.shift) <= self.far_edge
        self.far_edge, self.narrowed = max(self.far_edge, edge), self.narrowed or shrinks
        if at is None or not self.peer.plain or not shrinks:
            self.taken_back = None
        elif back is not None and edge >= back[0]:
            self.taken_back = edge, back[1]
        elif is_new:
            self.taken_back = edge, at

    def learn_intake(self, segment: Segment, place: Place, at: float | None) -> None:
        """Note what a segment of the peer shows of how the judged end takes text, and how soon that
        end's own was acknowledged."""
        if at is not None and place.ack is not None and place.ack > place.una and self.text_at:
            self.shortest_trip = min(self.shortest_trip, at - self.text_at)
        if not segment.payload:
            return
        size = len(segment.payload) + len(segment.options)
        full = self.peer.fresh and size >= self.largest_of_peer
        calm = self.peer.orderly and not segment.flags & FIN
        self.intake.text(place, at, is_full=full, is_calm=calm)

    def place(self, segment: Segment) -> Place:
        """Where a segment of the peer stands."""
        best, answer = self.best, self.answer
        first = segment.seq if self.isn is None else self.isn
        known = bool(segment.flags & ACK) and self.iss is not None
        # By place, as naming thirteen arguments would cost as much as all the rest.
        return Place(
            distance(first, segment.seq),
            segment.length,
            self.binding.next,
            self.sent.end,
            distance(self.iss or 0, segment.ack) if known else None,
            self.their_una,
            self.theirs.end,
            0 if best is None else best.ack or 0,
            self.edge,
            self.limit,
            self.times_agreed,
            answer is not None and bool(answer.flags & ECE),
            best is not None and not best.flags & SYN,
        )

    def quotes_text_under_way(self, error: IcmpError) -> bool:
        """Whether an error of IPv6 is about a segment that is not acknowledged yet."""
        quoted = error.quoted
        if self.iss is None or len(quoted) < _QUOTED_SEQ + 4 or quoted[0] >> 4 != 6:
            return False
        number = int.from_bytes(quoted[_QUOTED_SEQ : _QUOTED_SEQ + 4], "big")
        return self.their_una <= distance(self.iss, number) < self.theirs.end

    def opens_the_window(self, came: Came) -> bool:
        """Whether a segment says no more than that: nothing that came is its cause."""
        best = self.best
        same = best is not None and best.ack == came.ack and not came.length
        return best is not None and same and best.segment.window != came.segment.window

    def is_quiet(self, came: Came) -> bool:
        """Whether the judged end said nothing for a while before."""
        return self.heard_at is not None and came.at - self.heard_at > PROMPT

    def may_probe_the_tail(self, came: Came) -> bool:
        """Whether it may be a tail loss probe, which sends new text where there is some, one
        segment beyond what else may be under way (RFC 8985 section 7.3)."""
        return self.heard_at is not None and came.at - self.heard_at > _PROBE_AFTER

    def is_by_timer(self, came: Came) -> bool:
        """Whether text comes again, and nothing but time is the reason."""
        quiet = self.is_quiet(came)
        again = came.seq is not None and came.seq + came.length <= self.theirs.end
        return quiet and again and not self.spoke_since and bool(came.length)

    def says_nothing_new(self, came: Came) -> bool:
        """Whether an empty ACK repeats the last segment's numbers, window and flags."""
        best = self.best
        if best is None or came.length or best.flags & (SYN | FIN) or came.seq is None:
            return False
        same = came.seq == self.theirs.end and came.ack == best.ack
        quiet = came.segment.window == best.segment.window and opt.SACK not in came.options
        return same and quiet and came.flags == ACK == best.flags & ~PSH

    def echoes_an_ack(self, came: Came) -> bool:
        """Whether an empty ACK answers nothing but an ACK."""
        return self.peer.idles > 0 and self.says_nothing_new(came)

    def is_newer(self, came: Came) -> bool:
        """Whether a segment was surely sent after all that came, in whatever order it comes.

        Where the order is not known, a younger timestamp tells. New text does not: an ACK, or a
        copy of something lost, may have overtaken it.
        """
        best = self.best
        if came.flags & SYN and self.iss is not None and came.segment.seq != self.iss:
            # It opens another connection.
            return False
        if best is None or self.ordered:
            return True
        if best.times is None or came.times is None:
            return False
        return before(best.times[0], came.times[0])

    @property
    def times_unclear(self) -> bool:
        """One SYN of the peer offered timestamps, and another one did not: a target may go by the
        last one, as FreeBSD does, and its SYN-ACK may be lost."""
        return opt.TIMESTAMPS in self.offered.unlike

    @property
    def shift_unclear(self) -> bool:
        """Likewise of the window scale."""
        return opt.WINDOW_SCALE in self.offered.unlike

    @property
    def largest_of_peer(self) -> int:
        """Bytes of text and options that a segment of the peer may have, by the SYN-ACK."""
        offered = self.answer.segment.mss if self.answer is not None else None
        return offered or DEFAULT_MSS[self.family]

    @property
    def largest(self) -> int:
        """Bytes of text that a segment may have, its options not counted (RFC 9293 3.7.1).

        No path of IPv6 is too narrow for its default, the least for which a SYN cookie has room.
        """
        default = DEFAULT_MSS[self.family]
        offered = self.offered.mss or default
        return max(offered, default) if self.family == 6 else offered

    def blocks(self, came: Came) -> list[tuple[int, int]]:
        """Of its SACK option: relative edges, in their order."""
        option = came.options.get(opt.SACK)
        if option is None or self.isn is None or came.flags & RST:
            return []
        whole = len(option.data) // BLOCK.size * BLOCK.size
        return [
            (distance(self.isn, a), distance(self.isn, b))
            for a, b in BLOCK.iter_unpack(option.data[:whole])
        ]

    def is_timed(self, since: float) -> bool:
        """Whether every packet from then on was read when it came. since: seconds."""
        return self.stalled_at < since - _EARLIER
