"""What both ends of a connection have sent so far, as far as the rules ask for it.

Numbers are relative: those of the end that is judged to its ISS, those of its peer to the ISN of
the peer's first SYN, or of the SYN-ACK where it is the judged end that connects. Times are in
seconds.
"""

from __future__ import annotations

from collections.abc import Hashable

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.parts.came import NO_OPTIONS, Options, offered_by, options_of
from scapy_tfo.oracle.conduct.parts.came import Came as Came
from scapy_tfo.oracle.conduct.parts.facts import BLOCK as BLOCK
from scapy_tfo.oracle.conduct.parts.facts import DEFAULT_MSS, MOST_SHIFT, PROMPT, Facts
from scapy_tfo.oracle.conduct.parts.isns import Population as Population
from scapy_tfo.oracle.conduct.parts.peer_record import UNDER_WAY
from scapy_tfo.oracle.conduct.parts.place import Place
from scapy_tfo.segment import ACK, CWR, ECE, FIN, RST, SYN, Segment
from scapy_tfo.seq import distance

_COUNTED = 4096
_KEPT = 64
"""Packets of the peer that the rules look back upon."""


class History(Facts):
    """Learns the facts, packet by packet.

    key: the ends of the connection. population: the others of the end that is judged. known: what
    `Facts` is told.
    """

    __slots__ = ("key", "population")

    def __init__(
        self,
        key: Hashable = None,
        population: Population | None = None,
        *,
        complete: bool = True,
        ordered: bool = False,
        whole: bool = True,
        opens: bool = False,
        steady: bool = False,
        grace: float = 0.0,
        wary: bool = False,
    ) -> None:
        super().__init__(complete, ordered, whole, opens, steady, grace, wary)
        self.key = key
        self.population = population or Population()

    # What the peer sends

    def learn_sent(self, segment: Segment, at: float | None = None) -> None:
        """The peer sent a segment. at: seconds, None where the time is not known."""
        flags, peer = segment.flags, self.peer
        self.family = segment.src.version
        begins = bool(flags & SYN) and self._begins(segment)
        if self.isn is None:
            # A connection that begins with something else has no number to count from.
            self.isn = segment.seq if begins else None
            self.mixed = self.mixed or self.isn is None
        options = options_of(segment.options) if segment.options else NO_OPTIONS
        if begins:
            self.syns += 1
            peer.syn_end = max(peer.syn_end, segment.length)
            self._learn_offer(segment, options)
        if flags & SYN and (segment.seq != self.isn or self.may_be_over):
            self.mixed = True
        if options.times is not None:
            self.tsvals.add(options.times[0])
        if segment.traffic_class & 3 == 3:
            self.has_ce = True
        if flags & RST:
            self.resets += 1
            self.may_be_over = True
        place = self.place(segment)
        peer.take(segment, at, place)
        if self.their_shift and segment.payload:
            # The ACK that opens the window may open it by less than a unit (RFC 5681 section 4.2).
            peer.credit += 1
        self.learn_intake(segment, place, at)
        self._learn_numbers(segment, place)
        if place.times and peer.orderly:
            peer.stamps.learn(segment, place, self.binding.next)
        elif place.times:
            peer.stamps.forget()
        self.last_sent.append(segment)
        if len(self.last_sent) > _KEPT:
            del self.last_sent[0]
        self.gaps = ()
        self.repeats = self.burst = None
        self.spoke_since = True
        self.interrupted = self.interrupted or self.theirs.end > 1

    def _learn_offer(self, segment: Segment, options: Options) -> None:
        offered, kinds = self.offered, options.kinds
        if self.opens and self.syns > 1 and not self._agrees(segment, options):
            # Nobody knows which of the two the judged end heard first.
            self.mixed = True
        if self.syns > 1:
            # Which of the SYNs the judged end goes by nobody can tell.
            earlier = {opt.TIMESTAMPS} if offered.times else set()
            earlier |= {opt.WINDOW_SCALE} if offered.scales - {None} else set()
            offered.unlike |= (kinds ^ earlier) & {opt.TIMESTAMPS, opt.WINDOW_SCALE}
        # Of several some take the first, and others the last.
        shifts, sizes = offered_by(segment.options)
        offered.scales |= frozenset(shifts or (None,))
        offered.scaled = offered.scaled or bool(shifts)
        offered.shift = min(max(offered.shift, *(shifts or (0,))), MOST_SHIFT)
        offered.scale = shifts[-1] if shifts else None
        # Which of several SYNs counts nobody can tell; one without the option has a default.
        offered.sized |= bool(sizes)
        offered.mss = max(offered.mss or 0, *(sizes or (DEFAULT_MSS[self.family],)))
        offered.sack |= opt.SACK_PERMITTED in kinds
        offered.times |= opt.TIMESTAMPS in kinds
        offered.ecn |= bool(segment.flags & (ECE | CWR) or segment.reserved)
        offered.experiment |= bool(segment.reserved)
        offered.fast_open |= bool(segment.fast_open)
        self.agree()

    def _begins(self, segment: Segment) -> bool:
        """Whether it can be the peer's part of the handshake."""
        if not self.opens or not segment.is_syn_ack:
            return segment.is_syn
        # One that acknowledges something else is rejected (RFC 9293 section 3.10.7.3).
        if segment.is_rst or self.iss is None:
            return False
        return 1 <= distance(self.iss, segment.ack) <= self.theirs.end

    def _agrees(self, segment: Segment, options: Options) -> bool:
        """Whether a second SYN-ACK offers what the first did."""
        offered = self.offered
        found = options.sound
        scale = found.get(opt.WINDOW_SCALE)
        return (
            offered.scales == {scale.data[0] if scale is not None and scale.data else None}
            and offered.sack == (opt.SACK_PERMITTED in found)
            and offered.times == (opt.TIMESTAMPS in found)
            and (segment.mss is None or segment.mss == offered.mss)
        )

    def _learn_numbers(self, segment: Segment, place: Place) -> None:
        if self.isn is None:
            return
        flags, start, length = segment.flags, place.start, place.length
        if length and start < self.sent.end:
            self.repeated = True
        if not flags & RST:
            self.sent.add(start, b"", length)
            # The data of a SYN may be refused: it counts when it is acknowledged or sent again.
            self.binding.add(start, b"", 1 if flags & SYN else place.offered)
        self.ends.add((segment.seq + length) & 0xFFFFFFFF)
        if flags & (SYN | FIN) == SYN | FIN:
            # Some ignore the FIN (specs/freedoms.toml, syn-fin).
            self.ends.add((segment.seq + length - 1) & 0xFFFFFFFF)
        if not flags & ACK:
            return
        self.acks.add(segment.ack)
        ack = place.ack
        if ack is None or (self.wary and not self.peer.certain):
            return
        is_new = self.their_una < ack <= self.theirs.end
        if is_new:
            self._measure(ack)
            self._learn_progress(ack, place, is_read=segment.checksum is None and not flags & RST)
        crosses = self.spoke_since or not (self.complete and self.ordered)
        if ack > self.theirs.end and not crosses:
            # What acknowledges too much has no window (RFC 9293 section 3.10.7.4, fifth).
            return
        self.ahead = max(self.ahead, ack)
        # One that comes late moves SND.UNA, and not SND.WND (RFC 9293 section 3.10.7.4).
        window = max(segment.window, self.peer.goes_by)
        edge = ack + (window << (0 if flags & SYN else self.offered.shift))
        if not flags & SYN:
            self.learn_shrink(ack + (segment.window << self.offered.shift), is_new=is_new)
        self.limit = edge if self.limit is None else max(self.limit, edge)

    def _measure(self, ack: int) -> None:
        """The peer acknowledges a SYN-ACK: how long the judged end waited for that."""
        at = self.peer.sent_at
        if not self.their_una and len(self.handshakes) == 1 and ack == 1 and at is not None:
            self.peer.round_trip = at - self.handshakes[0]

    def _learn_progress(self, ack: int, place: Place, *, is_read: bool) -> None:
        """The peer acknowledges more than before. is_read: it is sound, and no RST (challenged)."""
        at = self.peer.sent_at
        self.slow = self.slow or at is None or at - self.text_at > PROMPT
        # A segment for each segment, or for each ACK, is the most that a window grows by.
        self.grown = max(self.grown + 1, self.segments)
        shut = self.best is not None and not self.best.segment.window
        if shut and at is not None and self.peer.plain and place.start == place.taken:
            self.acked_while_shut = ack, at
        if ack == self.theirs.end and at is not None and at - self.text_at > UNDER_WAY:
            self.deflated = self.peer.inflation
        if self.rounds is not None:
            self.rounds.learn(self.their_una, self.theirs.end)
        self.their_una = ack
        fin = self.their_fin
        # The acknowledgement of a segment outside of the window is not read (RFC 9293 3.10.7.4).
        # So is that of text which the judged end has, and may not have acknowledged yet.
        is_read &= place.is_acceptable and place.start + max(place.length, 1) > place.next
        if fin is not None and ack > fin and self.fin_acked_at is None and is_read:
            self.fin_acked_at = at
            best = self.best
            known = best is not None and best.ack is not None and best.ack >= self.sent.end
            if self.closed_first and self.peer.fin and known:
                # From CLOSING it is the last ACK that leads to TIME-WAIT.
                self.time_wait = at

    def learn_error(self, error: IcmpError | None = None, at: float | None = None) -> None:
        """The peer, or somebody on the path, sent an ICMP error. at: seconds."""
        self.errors += 1
        self.spoke_since, self.burst = True, None
        known = error is not None and self.quotes_text_under_way(error)
        # In SYN-RECEIVED any error may end the connection.
        calm = at is not None and self.heard_at is not None and at - self.heard_at > UNDER_WAY
        self.peer.error(error if self.their_una else None, at if known else None, is_calm=calm)
        self.interrupted = self.may_be_over = True

    # What the judged end sends

    def read(self, segment: Segment, at: float, number: int) -> Came:
        """A segment of the judged end, as the rules read it."""
        options = options_of(segment.options) if segment.options else NO_OPTIONS
        iss, flags = self.iss, segment.flags
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
            options.sound,
            options.every,
            None if iss is None else distance(iss, segment.seq),
            distance(self.isn, segment.ack) if self.isn is not None and flags & ACK else None,
            options.times,
        )

    def learn_label(self, segment: Segment) -> None:
        """A packet with another flow label than before may overtake those before it: queues are
        chosen by the label (RFC 6437 section 1)."""
        if segment.flags & (SYN | RST) or self.family != 6:
            return
        self.relabelled = self.relabelled or self.label not in (-1, segment.flow_label)
        self.label = segment.flow_label

    def learn_identification(self, came: Came) -> None:
        """Packets that routers may cut are told apart by their identification (RFC 6864)."""
        last, segment = self.identified, came.segment
        if not segment.may_be_cut or segment == (last and last.segment):
            return
        same = last is not None and last.segment.ip_id == segment.ip_id
        self.same_ids = self.same_ids + 1 if same else 0
        self.identified = came

    def learn_came(self, came: Came) -> None:
        """What the segment tells, once it is judged."""
        segment, flags = came.segment, came.flags
        if came.length:
            self._learn_timers(came)
        if came.ack is not None and (self.intake.early or self.intake.waiting):
            self.intake.acknowledged(came.ack)
        echoes = self.echoes_an_ack(came) and not self.peer.asked
        self.echoes = self.echoes + 1 if echoes else 0
        self.heard_at, self.spoke_since = came.at, False
        self.peer.heard(echoes=echoes, empty=self.says_nothing_new(came))
        if came.ack is not None and self.binding.next < came.ack <= self.sent.next:
            self.binding.add(0, b"", came.ack)
        for start, end in self.blocks(came):
            self.reported.add(start, b"", end - start)
        if flags & (RST | FIN):
            self.may_be_over = True
        if flags & RST:
            self.reset = came
        elif flags & SYN:
            self._learn_syn_ack(came)
        if flags & RST or came.seq is None or self.mixed:
            return
        self._learn_empty(came)
        self._learn_repeat(came)
        if came.length and came.seq + came.length > self.theirs.end:
            self.text_at = came.at
            self.segments += not flags & SYN
        if self.is_newer(came):
            before, self.best = self.edge, came
            self.learn_edge()
            if before is not None and self.edge is not None:
                self.shrank = self.shrank or self.edge + (1 << self.their_shift) <= before
        start, length = came.seq, came.length
        # A probe of a closed window, and what has its byte in it, tell of no reduction.
        tells = bool(self.peer.window) and start >= self.theirs.end
        if flags & SYN:
            self.theirs.add(start, b"", 1)
            start, length = start + 1, length - 1
        self.theirs.add(start, segment.payload if self.contents else b"", length)
        if segment.payload and (flags & CWR or (tells and self.peer.echoed is not None)):
            # ECE beside acknowledgements that say nothing new may have told of it before.
            self.after_echo.append(bool(flags & CWR))
        if flags & FIN and self.their_fin is None:
            self.their_fin = came.seq + came.length - 1
            # FINs that cross close it from both ends (RFC 9293 section 3.6, CLOSING).
            crosses = came.ack is not None and came.ack < self.sent.end
            self.closed_first = not self.peer.fin or crosses
        if self.closed_first and self.peer.fin and self.time_wait is None:
            whole = came.ack is not None and came.ack >= self.sent.end
            self.time_wait = came.at if whole and self.fin_acked_at is not None else None

    def _learn_timers(self, came: Came) -> None:
        """Note what a timer sent."""
        if came.seq is None or came.flags & (SYN | RST):
            return
        size = len(came.segment.payload)
        if self.is_by_timer(came):
            self.burst = came.at, size, came.seq + size
        elif self.burst is not None:
            self.burst = self.burst[0], self.burst[1] + size, came.seq + size

    def _learn_empty(self, came: Came) -> None:
        """Note what acknowledgements without text tell."""
        if self.peer.window == 0 and came.seq is not None and came.seq <= self.their_una:
            if not self.probes or came.at - self.probes[-1] > PROMPT:
                self.probes += (came.at,)
        elif self.peer.window:
            self.probes = ()
        if came.length or came.flags & SYN:
            return
        self._learn_report(came)
        if not self.opens_the_window(came):
            self.peer.credit = max(self.peer.credit - 1, 0)
        self.acks_at.append(came.at)
        del self.acks_at[:-_COUNTED]

    def _learn_report(self, came: Came) -> None:
        blocks, self.duplicate = self.blocks(came), None
        if not blocks or came.ack is None:
            return
        first, *rest = blocks
        if first[1] <= came.ack:
            self.duplicate = first
        if rest or self.duplicate is None:
            self.reported_beside = came.ack

    def _learn_syn_ack(self, came: Came) -> None:
        self.handshakes += (came.at,)
        self.refuses_ecn &= self.iss == came.segment.seq
        self.refuses_ecn |= not came.flags & ECE
        self.text_at = came.at
        if self.iss is None:
            self.iss = came.segment.seq
            self.answer = came
            self.agree()
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
        self._learn_time(came.seq, came.at)
        if self.repeats is not None and self.repeats[0] == came.seq:
            self.gaps += (came.at - self.repeats[1],)
            self.repeats = came.seq, came.at
        elif came.seq + came.length <= self.theirs.end and self.repeats is None:
            self.repeats = came.seq, came.at
        elif came.seq + came.length > self.theirs.end:
            self.gaps = ()
            # The timer of what was there before, as the byte of a probe, may be running.
            is_new = came.seq >= self.theirs.end
            self.repeats = (came.seq, came.at) if is_new else None

    def _learn_time(self, start: int, at: float) -> None:
        """Note when text came, until some comes twice."""
        if self.repeated:
            self.sent_at.clear()
            return
        self.sent_at[start] = at
        if len(self.sent_at) > _KEPT:
            del self.sent_at[next(iter(self.sent_at))]
