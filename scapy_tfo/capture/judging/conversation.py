"""Both ends of a captured connection under the rules."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from scapy_tfo.capture.connections import End
from scapy_tfo.capture.judging.doubts import Doubt
from scapy_tfo.capture.judging.end import JudgedEnd, Known
from scapy_tfo.capture.judging.packets import Seen, State, View
from scapy_tfo.capture.judging.verdict import ConnectionVerdict
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.history import Population
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment
from scapy_tfo.seq import distance

_LONGEST = 1 << 30
"""Bytes of one end behind which its numbers are not compared: half of what can be told apart."""
_BEYOND = 1 << 16
"""Numbers beyond the window that an end may be ahead of what was captured."""
_AT_ONCE = 0.15
"""Seconds within which the same segment comes again only where it was captured twice, or doubled
on the way: a retransmission is later."""
_LATER = 2.0
"""The same where it even has the same IP identification, which is that of one packet."""
_BACK = 8
"""Segments with text that one is compared with."""
_SHARE = 4
"""Of so many segments more than one is a copy where two places were captured: each second one, less
what was lost between. No path doubles so much."""
_COST = 8 << 10
_HELD = 2 << 20
"""Bytes of memory that a connection takes without text, and of text at most."""


class Conversation:
    """One connection, from its first packet in the capture on.

    client: the end that sent the first SYN, or that spoke first where there is none. first: its
    first frame. last: when the last one came, in seconds. cost: about the bytes that it takes.
    """

    def __init__(
        self,
        seen: Seen,
        populations: tuple[Population, Population],
        known: Known,
        *,
        aside: Doubt | None,
    ) -> None:
        """populations: of who sends the packet, and of who gets it. aside: why it is not judged
        like the first connection between these ends."""
        segment = seen.what
        # The suite sends SYNs that look like an answer, and captures at its own end.
        ours = bool(seen.view.case) and seen.view.place == seen.src.address
        answers = isinstance(segment, Segment) and segment.is_syn_ack and not ours
        pair = (seen.dst, seen.src) if answers else (seen.src, seen.dst)
        own = populations[::-1] if answers else populations
        begins = isinstance(segment, Segment) and segment.is_syn and not segment.is_rst
        known = known if begins else replace(known, proven=False, began=False)
        # The ends of each incarnation are the same.
        self.ends = tuple(
            JudgedEnd(end, frozenset(pair), population, known, opens=opens)
            for end, population, opens in zip(pair, own, (True, False), strict=True)
        )
        self.view: View = seen.view
        self.first = seen.number
        self.last = seen.at
        self.is_over = False
        self._began = begins
        self._is_proven = known.proven
        self._places = known.places
        self._bytes = 0
        self._is_reset = False
        self._copies = self._with_length = 0
        self._lately: deque[tuple[float, Segment]] = deque(maxlen=_BACK)
        if aside is not None and begins:
            self._mix(aside)
        elif not begins:
            self._mix(aside or Doubt.START)

    @property
    def cost(self) -> int:
        return _COST + min(self._bytes, _HELD)

    @property
    def client(self) -> End:
        return self.ends[0].end

    def is_another(self, seen: Seen) -> bool:
        """Whether a packet begins another connection between the same ends."""
        segment = seen.what
        if not isinstance(segment, Segment) or not segment.is_syn or segment.is_rst:
            return False
        me, other = self._sides(seen)
        if me.history.iss is not None:
            return segment.seq != me.history.iss
        # A SYN that crosses one is of the same connection; one that comes later is not.
        crosses = self._began and not me.packets and other.history.opens
        return other.packets > 0 and not crosses

    def take(self, seen: Seen) -> None:
        """A packet of it."""
        self.last = seen.at
        me, other = self._sides(seen)
        segment = seen.what
        if isinstance(segment, IcmpError):
            other.error(segment, seen.at)
            return
        me.packets += 1
        if seen.state is State.SPOILED:
            if other.end.address not in self._places:
                # Whether it was changed before or behind the capture, nobody knows.
                other.lack(seen.number)
            return
        if seen.state is State.CUT:
            me.history.contents = False
            for each in self.ends:
                each.is_cut = True
        self._bytes += len(segment.payload)
        self._count_copies(segment, seen.at)
        doubtful = me.doubt is not None or other.doubt is not None
        if doubtful:
            self._find_another(me, other, segment)
        is_other = segment.flags & (SYN | RST) == SYN and me.history.iss not in (None, segment.seq)
        if is_other and (doubtful or self.is_over):
            # A SYN that comes once more when all is over opens another connection.
            self._mix(Doubt.AGAIN)
        heard = replace(segment, payload=b"") if me.is_keepalive(segment) else segment
        me.came(heard, seen.at, seen.number)
        other.sent(segment, seen.at)
        self._is_reset = self._is_reset or bool(segment.flags & RST)
        ended = all(each.history.their_fin is not None for each in self.ends)
        self.is_over = self._is_reset or ended
        if max(me.history.theirs.end, me.history.sent.end) > _LONGEST:
            self._mix(Doubt.LONG)

    def lack(self, number: int) -> None:
        """A packet between these addresses could not be read."""
        for each in self.ends:
            each.lack(number)

    def verdict(self) -> ConnectionVerdict:
        """What the rules say of it so far."""
        client, server = self.ends
        if self._copies * _SHARE > self._with_length:
            for each in self.ends:
                each.doubt = each.doubt or Doubt.TWICE
        place = self.view.place
        return ConnectionVerdict(
            first=self.first,
            client=client.verdict(server),
            server=server.verdict(client),
            interface=self.view.interface,
            place="" if place is None else str(place),
            case=self.view.case,
        )

    def _sides(self, seen: Seen) -> tuple[JudgedEnd, JudgedEnd]:
        one, other = self.ends
        return (one, other) if one.end == seen.src else (other, one)

    def _mix(self, why: Doubt) -> None:
        for each in self.ends:
            each.mix(why)

    def _count_copies(self, segment: Segment, at: float) -> None:
        """Count the packets that come a second time, where each should be there once."""
        if not self._is_proven or self.view.case or not segment.length:
            return
        self._with_length += 1
        for before, each in self._lately:
            # The identification is left out of what is compared.
            if each != replace(segment, hop_limit=each.hop_limit):
                continue
            is_one = segment.ip_id == each.ip_id != 0
            if at - before < (_LATER if is_one else _AT_ONCE):
                self._copies += 1
                break
        self._lately.append((at, segment))

    def _find_another(self, me: JudgedEnd, other: JudgedEnd, segment: Segment) -> None:
        """Notice numbers of a connection whose SYN was not captured: the ports are used again."""
        history, theirs = me.history, other.history
        if self._is_reset:
            self._mix(Doubt.AGAIN)
        if history.iss is None or history.isn is None or history.mixed:
            return
        if segment.flags & (SYN | RST) or not segment.flags & ACK:
            return
        at, ack = distance(history.iss, segment.seq), distance(history.isn, segment.ack)
        far = max(history.limit or 0, history.theirs.end) + _BEYOND
        ahead = max(theirs.limit or 0, theirs.theirs.end) + _BEYOND
        closed = _behind(history.their_fin, at) or _behind(theirs.their_fin, ack)
        if closed or not -1 <= at <= far or ack > ahead:
            self._mix(Doubt.AGAIN)


def _behind(fin: int | None, number: int) -> bool:
    """Whether a number lies behind a FIN."""
    return fin is not None and number > fin + bool(FIN)
