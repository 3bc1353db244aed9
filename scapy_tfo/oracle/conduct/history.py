"""What both ends of a connection have sent so far, as far as the rules ask for it.

Numbers are relative: those of the end that is judged to its ISS, those of its peer to the ISN of
the peer's first SYN, or of the SYN-ACK where it is the judged end that connects. Times are in
seconds.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.isns import Population
from scapy_tfo.oracle.conduct.pieces import Numbers, Pieces
from scapy_tfo.segment import ACK, CWR, ECE, FIN, RST, SYN, Segment
from scapy_tfo.seq import before, distance

_DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, without an MSS option (RFC 9293 section 3.7.1)."""
_MOST_SHIFT = 14
"""RFC 7323 section 2.3."""
_REMEMBERED = 1024
_EARLIER = 0.1
"""Seconds before a packet in which a stall may have held it up."""
BLOCK = struct.Struct("!II")
"""Edges of a block of SACK."""
_KEPT = 64
"""Packets of the peer that the rules look back upon."""


_NO_OPTIONS: tuple[dict[int, opt.RawOption], tuple[opt.RawOption, ...]] = ({}, ())


@lru_cache(_REMEMBERED)
def _options(block: bytes) -> tuple[dict[int, opt.RawOption], tuple[opt.RawOption, ...]]:
    """The sound options by kind, and all of them."""
    every = opt.pull_options(block)
    return {each.kind: each for each in every if each.is_sound}, every


def _all(segment: Segment, kind: int, size: int) -> list[opt.RawOption]:
    """The sound options of a kind with so many bytes of data."""
    every = _options(segment.options)[1]
    return [
        each for each in every if each.kind == kind and each.is_sound and len(each.data) == size
    ]


@dataclass(slots=True)
class Offered:
    """What the SYNs of the peer offered, in any of them. experiment: more than RFC 3168's ECN."""

    mss: int | None = None
    scale: int | None = None
    sack: bool = False
    times: bool = False
    ecn: bool = False
    experiment: bool = False
    fast_open: bool = False
    scales: set[int | None] = field(default_factory=set)


@dataclass(slots=True)
class Came:
    """A segment of the end that is judged. number: of the packet in the capture.

    options: sound ones by kind, the last of each. seq, ack: relative, None while nothing tells
    what to. times: TSval and TSecr.
    """

    segment: Segment
    flags: int
    length: int
    at: float
    number: int
    options: dict[int, opt.RawOption]
    every: tuple[opt.RawOption, ...]
    seq: int | None
    ack: int | None
    times: tuple[int, int] | None


class History:
    """One connection, from its first packet on.

    key: its ends. population: the other connections of the end that is judged. complete: every
    packet of the peer is known. ordered: packets come in the order in which they were sent. whole:
    segments come as they were sent, and no interface puts several into one. opens: the judged end
    connects, and sends the first SYN. contents: the bytes of its text are known. mixed: its packets
    belong to more than one incarnation, or nobody can tell. syns: of the peer. answer: the first
    SYN of the judged end, a SYN-ACK unless it connects. sent, theirs: the streams of the peer and
    of the judged end. limit: the right edge of the largest window that the peer offered. their_una:
    what the peer acknowledged of the text that came. best: the youngest segment of the judged end.
    heard_at: when the last one came. spoke_since, interrupted: whether the peer has sent something
    since then, and since the first text. repeated: either end has sent something again. reported:
    what the blocks of the judged end named. stalled_at: when packets were last read later than they
    came. repeats, gaps: the text that came last, when it did, and the seconds between its copies,
    while the peer says nothing. resets, errors: RSTs of the peer, and ICMP errors. may_be_over: a
    SYN that comes now may open another connection.
    """

    def __init__(
        self,
        key: Hashable = None,
        population: Population | None = None,
        *,
        complete: bool = True,
        ordered: bool = False,
        whole: bool = True,
        opens: bool = False,
    ) -> None:
        self.key = key
        self.population = population or Population()
        self.complete = complete
        self.ordered = ordered
        self.whole = whole
        self.opens = opens
        self.contents = True
        self.mixed = False
        self.isn: int | None = None
        self.iss: int | None = None
        self.family = 4
        self.offered = Offered()
        self.syns = 0
        self.answer: Came | None = None
        self.sent = Pieces(0)
        self.theirs = Pieces(0)
        self.their_fin: int | None = None
        self.acks = Numbers()
        self.limit: int | None = None
        self.their_una = 0
        self.tsvals = Numbers()
        self.ends = Numbers()
        self.last_sent: list[Segment] = []
        self.has_ce = False
        self.resets = self.errors = 0
        self.best: Came | None = None
        self.gaps: list[float] = []
        self.repeats: tuple[int, float] | None = None
        self.heard_at: float | None = None
        self.spoke_since = False
        self.interrupted = False
        self.repeated = False
        self.reported = Pieces(0)
        self.stalled_at = -math.inf
        self.may_be_over = False

    # What the peer sends

    def learn_sent(self, segment: Segment) -> None:
        """The peer sent a segment."""
        flags = segment.flags
        self.family = segment.src.version
        begins = self._begins(segment)
        if self.isn is None:
            # A connection that begins with something else has no number to count from.
            self.isn = segment.seq if begins else None
            self.mixed = self.mixed or self.isn is None
        if begins:
            self.syns += 1
            self._learn_offer(segment)
        if flags & SYN and (segment.seq != self.isn or self.may_be_over):
            self.mixed = True
        times = segment.timestamps if segment.options else None
        if times is not None:
            self.tsvals.add(times[0])
        self.has_ce = self.has_ce or segment.traffic_class & 3 == 3
        if flags & RST:
            self.resets += 1
            self.may_be_over = True
        self._learn_numbers(segment)
        self.last_sent.append(segment)
        del self.last_sent[:-_KEPT]
        self.gaps.clear()
        self.repeats = None
        self.spoke_since = True
        self.interrupted = self.interrupted or self.theirs.end > 1

    def _begins(self, segment: Segment) -> bool:
        """Whether it can be the peer's part of the handshake."""
        if not self.opens or not segment.is_syn_ack:
            return segment.is_syn
        # One that acknowledges something else is rejected (RFC 9293 section 3.10.7.3).
        if segment.is_rst or self.iss is None:
            return False
        return 1 <= distance(self.iss, segment.ack) <= self.theirs.end

    def _learn_offer(self, segment: Segment) -> None:
        offered = self.offered
        if self.opens and self.syns > 1 and not self._agrees(segment):
            # Nobody knows which of the two the judged end heard first.
            self.mixed = True
        kinds = {each.kind for each in _options(segment.options)[1]}
        # Of several some take the first, and others the last.
        shifts = [each.data[0] for each in _all(segment, opt.WINDOW_SCALE, 1)]
        offered.scales.update(shifts or [None])
        offered.scale = shifts[-1] if shifts else None
        # Which of several SYNs counts nobody can tell; one without the option has a default.
        sizes = [int.from_bytes(each.data, "big") for each in _all(segment, opt.MSS, 2)]
        offered.mss = max(offered.mss or 0, *(sizes or [_DEFAULT_MSS[self.family]]))
        offered.sack |= opt.SACK_PERMITTED in kinds
        offered.times |= opt.TIMESTAMPS in kinds
        offered.ecn |= bool(segment.flags & (ECE | CWR) or segment.reserved)
        offered.experiment |= bool(segment.reserved)
        offered.fast_open |= bool(segment.fast_open)

    def _agrees(self, segment: Segment) -> bool:
        """Whether a second SYN-ACK offers what the first did."""
        offered = self.offered
        found = _options(segment.options)[0]
        scale = found.get(opt.WINDOW_SCALE)
        return (
            offered.scales == {scale.data[0] if scale is not None and scale.data else None}
            and offered.sack == (opt.SACK_PERMITTED in found)
            and offered.times == (opt.TIMESTAMPS in found)
            and (segment.mss is None or segment.mss == offered.mss)
        )

    def _learn_numbers(self, segment: Segment) -> None:
        if self.isn is None:
            return
        start = distance(self.isn, segment.seq)
        syn = bool(segment.flags & SYN)
        if segment.length and start < self.sent.end:
            self.repeated = True
        if not segment.flags & RST:
            self.sent.add(start, b"", int(syn))
            self.sent.add(start + syn, b"", segment.length - syn)
        self.ends.add(segment.end)
        if not segment.flags & ACK:
            return
        self.acks.add(segment.ack)
        if self.iss is None:
            return
        ack = distance(self.iss, segment.ack)
        if ack <= self.theirs.end:
            self.their_una = max(self.their_una, ack)
        shift = 0 if syn else min(max((each or 0) for each in self.offered.scales), _MOST_SHIFT)
        edge = ack + (segment.window << shift)
        self.limit = edge if self.limit is None else max(self.limit, edge)

    def learn_error(self) -> None:
        """The peer, or somebody on the path, sent an ICMP error."""
        self.errors += 1
        self.interrupted = self.may_be_over = True

    # What the judged end sends

    def read(self, segment: Segment, at: float, number: int) -> Came:
        """A segment of the judged end, as the rules read it."""
        options, every = _options(segment.options) if segment.options else _NO_OPTIONS
        iss = self.iss
        if iss is None and segment.flags & (SYN | RST) == SYN:
            iss = segment.seq
            # Accurate ECN is asked for by the connecting end itself (RFC 9768 section 3.1.1).
            self.offered.experiment |= self.opens and bool(segment.reserved)
        return Came(
            segment,
            segment.flags,
            segment.length,
            at,
            number,
            options,
            every,
            None if iss is None else distance(iss, segment.seq),
            distance(self.isn, segment.ack)
            if segment.flags & ACK and self.isn is not None
            else None,
            segment.timestamps if opt.TIMESTAMPS in options else None,
        )

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

    def learn_came(self, came: Came) -> None:
        """What the segment tells, once it is judged."""
        segment, flags = came.segment, came.flags
        self.heard_at, self.spoke_since = came.at, False
        for start, end in self.blocks(came):
            self.reported.add(start, b"", end - start)
        if flags & SYN and not flags & RST:
            self._learn_syn_ack(came)
        if flags & (RST | FIN):
            self.may_be_over = True
        if flags & RST or came.seq is None or self.mixed:
            return
        self._learn_repeat(came)
        if self.is_newer(came):
            self.best = came
        syn = bool(flags & SYN)
        self.theirs.add(came.seq, b"", int(syn))
        text = segment.payload if self.contents else b""
        self.theirs.add(came.seq + syn, text, came.length - syn)
        if flags & FIN and self.their_fin is None:
            self.their_fin = came.seq + came.length - 1

    def _learn_syn_ack(self, came: Came) -> None:
        if self.iss is None:
            self.iss = came.segment.seq
            self.answer = came
            if self.isn is not None or self.opens:
                self.population.learn(self.key, self.isn or 0, self.iss, came.at)
            for each in self.last_sent:
                if each.flags & (SYN | ACK) == SYN:
                    # The peer's SYN offers a window that is not scaled.
                    self.limit = max(self.limit or 0, 1 + each.window)
        elif came.segment.seq != self.iss or (self.opens and self._another_offer(came)):
            self.mixed = True

    def _another_offer(self, came: Came) -> bool:
        """A SYN that is sent again with less: what was agreed on depends on which one arrived."""
        assert self.answer is not None
        kinds = (opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS)
        return any((each in came.options) != (each in self.answer.options) for each in kinds)

    def _learn_repeat(self, came: Came) -> None:
        """Note when the same text came again while the peer said nothing."""
        if not came.length:
            return
        assert came.seq is not None
        self.repeated = self.repeated or came.seq < self.theirs.end
        if self.repeats is not None and self.repeats[0] == came.seq:
            self.gaps.append(came.at - self.repeats[1])
            self.repeats = came.seq, came.at
        elif came.seq + came.length <= self.theirs.end and self.repeats is None:
            self.repeats = came.seq, came.at
        elif came.seq + came.length > self.theirs.end:
            self.gaps.clear()
            self.repeats = came.seq, came.at

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

    def is_timed(self, since: float) -> bool:
        """Whether every packet from then on was read when it came. since: seconds."""
        return self.stalled_at < since - _EARLIER

    # What was agreed

    @property
    def times_agreed(self) -> bool:
        """Both SYNs carried timestamps (RFC 7323 section 3.2)."""
        answer = self.answer
        return self.offered.times and answer is not None and answer.times is not None

    @property
    def their_shift(self) -> int:
        """Of the windows of the judged end, behind its SYN-ACK."""
        answer = self.answer
        if answer is None or not any(each is not None for each in self.offered.scales):
            return 0
        scale = answer.options.get(opt.WINDOW_SCALE)
        return min(scale.data[0], _MOST_SHIFT) if scale is not None and scale.data else 0

    @property
    def largest(self) -> int:
        """Bytes of text that a segment may have, its options not counted (RFC 9293 3.7.1)."""
        return self.offered.mss or _DEFAULT_MSS[self.family]
