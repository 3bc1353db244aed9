"""Tracks the states that the target may be in, and what it owes, after each packet that we send.

For every packet, a `Connection` works out in which states the target may be by then, how much of
the stream it may and must have taken, and what it owes in answer. Sources: RFC 9293 section 3.10.7
if no other is named.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.parts.events import Icmp, Lies, Sent
from scapy_tfo.oracle.parts.state import ANY_WINDOW, LISTEN, OPEN, RCVD, SOON, Knowledge, later
from scapy_tfo.oracle.parts.syn import SIGNED, SynRule, over_the_limit, syn_rule
from scapy_tfo.program.options import Offer
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG


class Connection(Knowledge):
    """One flow, as what is sent on it changes what is known."""

    def sent(self, sent: Sent) -> None:
        """A sound segment went out."""
        seq, flags, size, offer = sent.seq, sent.flags, sent.size, sent.offer
        if flags & SYN and flags & (ECE | CWR):
            self.asks_for_ecn = True
        if flags & FIN:
            self.note("fin")
        if offer.fast_open and not (flags & SYN and not flags & ACK):
            self.note("option-elsewhere")
        if offer.unsound:
            self.note("unsound-options")
        if flags & (SYN | RST) == SYN | RST or flags & (SYN | ACK) == SYN | ACK:
            self.note("odd-syn")
        if flags & URG and not self.profile.inline:
            self.vague = True
        if flags & RST:
            self._sent_rst(sent)
        elif flags & SYN:
            if flags & ACK:
                self._sent_syn_ack(sent)
            else:
                self._sent_syn(sent)
        elif flags & ACK:
            self._sent_ack(sent)
        else:
            self.note("no-ack-flag")
            self.want_answer(False)
            if offer.times is not None:
                self.times_sent.add(offer.times[0])
                self.times_may = later(self.times_may, offer.times[0])
        self.unsettled += 1
        self.pristine = False
        if size or flags & (SYN | FIN):
            self.told.append((seq, seq + size + bool(flags & SYN) + bool(flags & FIN)))

    def sent_lie(self, sent: Sent, lies: Lies) -> None:
        """A segment went out in which something is wrong."""
        if lies.reserved:
            self.note("odd-flags")
            # One of them is AE.
            self.asks_for_ecn = self.asks_for_ecn or bool(sent.flags & SYN)
        if lies.traffic_class:
            self.note("traffic-class")
        if lies.checksum:
            self.note("bad-checksum")
        elif lies.offset:
            # Too small or too large it is no segment; else it is another one.
            self.note("bad-offset")
            if lies.fits:
                self.vague = True
        else:
            self.sent(sent)
        if lies.fragmented:
            # Some drop every fragment.
            self.may_end()

    def icmp(self, error: Icmp) -> None:
        """An ICMP error about a segment of the target's went out."""
        self.note("icmp")
        # Up to the next number that it may send: its text may still be on the way, and Linux takes
        # the next one for its own.
        last = 1 + self.answer_size + self.may.ended
        if not error.too_big and self.states & RCVD and 0 <= error.seq <= last:
            self.may_end()

    def _sent_rst(self, sent: Sent) -> None:
        seq, size, offer, now = sent.seq, sent.size, sent.offer, sent.now
        if self.states == LISTEN:
            return
        self.note("rst")
        if self.iss is None:
            # It may have been believed or not, and the SYN-ACK that comes tells nothing.
            self.vague = True
        self.releases += self.iss is not None
        if self.profile.stateless and not self.states & OPEN:
            # What keeps nothing has nothing that a RST could end.
            self.vague = True
        low, high = self.must.next, self.may.next
        old_time = offer.times is not None and not self.timely(offer)[1]
        # To take one with text is a SHOULD (RFC 9293 section 3.5.3, SHLD-2).
        sure = not (size or old_time) and self.iss is not None and sent.certain
        if low == seq == high and sure:
            self.states = LISTEN
            self.reset_at = now
            self.wants_answer = False
            # What was sent just before may be answered with a RST of its own.
            self.rst_overtaken = self.rst_pardoned and self.unsettled > 0
        elif low - self.may.ended <= seq < high + ANY_WINDOW:
            # Some take one at the number of the FIN, too; others answer with an ACK.
            self.states |= LISTEN
            self.want_answer(False)
        self.rst_pardoned = self.rst_pardoned or self.states != LISTEN

    def _sent_syn_ack(self, sent: Sent) -> None:
        self.note("bad-ack")
        self.rst_pardoned = True
        if self.states == LISTEN:
            if not _may_be_dropped(sent):
                self.want_rst(sent.ack or 0, 0)
        else:
            self.states |= LISTEN

    def _sent_syn(self, sent: Sent) -> None:
        seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
        if self.states == LISTEN:
            self._sent_first_syn(sent)
            if sent.wrong and size:
                self.odd_text.append((seq + 1, seq + 1 + size))
            return
        self.syn_at = now
        again = seq == self.base
        if self.states & LISTEN:
            # Of two that are alike it makes no difference which one comes.
            alike = again and size == self.syn_size and offer == self.offer and self.iss is None
            self.vague = self.vague or sent.certain or not alike
            return
        if self.states & OPEN:
            self.note("syn-when-open")
        else:
            self.note("duplicate-syn" if again else "other-syn")
            if again and size and (sent.wrong or size != self.syn_size):
                self.note("other-data-in-syn")
        end = seq if again and self.states == RCVD else seq + 1 + size
        in_window = seq < self.may.next + ANY_WINDOW and end > self.must.next
        if in_window or seq == self.must.next:
            # RFC 9293 lets it reset the connection, RFC 5961 section 4.2 has it challenged.
            self.may_end()
            self.want_answer(False)
        elif self.states == OPEN:
            # Without the timestamps that were agreed on it may be dropped (RFC 7323 section 3.2).
            untimed = self.timestamps and offer.times is None
            # And one with FIN is refused by most stacks, by some before they look for a connection.
            refused = untimed or bool(flags & FIN)
            self.want_answer(not (refused or _may_be_dropped(sent)))
        elif not again:
            self.want_answer(False)
        if _asks(offer) != _asks(self.offer):
            self.other_offers = True
        if offer.times is not None:
            self.times_sent.add(offer.times[0])

    def _sent_first_syn(self, sent: Sent) -> None:
        seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
        if self.room is not None and self.accepted and self.reset_at is not None:
            self.room.leave_behind(self.reset_at)
        hasty = self.rule is not None and self.unsettled > 0
        used = not self.pristine
        if seq or used:
            self.begin_anew(seq)
        self.vague = self.vague or hasty
        length = 1 + size + bool(flags & FIN)
        self.sent_end = seq + length
        if self.flow.port == "closed":
            self.rst_pardoned = True
            if not self.unsettled and not _may_be_dropped(sent):
                self.want_rst(0, seq + length)
            return
        near = self.isn + seq & 0xFFFFFFFF
        wraps = near + SOON > 0xFFFFFFFF or near < 1 << 31 <= near + SOON
        if wraps:
            self.note("wraps")
        if flags & FIN:
            self.note("syn-fin")
            self.syn_fin = True
        rule = self._rule_for(sent, wraps=wraps, used=used)
        self.rule = rule
        self.offer = offer
        self.syn_size = size
        self.states = RCVD if rule.owed else RCVD | LISTEN
        self.limit = self.edge = 1 + sent.window
        if offer.mss is not None:
            self.mss = offer.mss
            if offer.mss < 1200:
                self.note("small-mss")
        if offer.times is not None:
            self.note("timestamps")
        self._note_opening(flags, offer, size, rule)
        if offer.times is not None:
            self.times_sent.add(offer.times[0])
            self.times_must = self.times_may = offer.times[0]
        self.sent_text.append((seq, seq + 1 + size))
        if flags & PSH:
            self.pushed = seq + 1 + size
        self.may.add(seq + 1, seq + 1 + rule.most, bool(flags & FIN) and rule.most == size)
        self.must.add(seq + 1, seq + 1 + rule.least)
        self.reset_at = None
        self.their_last = self.progress_at = now
        if sent.window < 4096:
            self.note("window")

    def _rule_for(self, sent: Sent, *, wraps: bool, used: bool) -> SynRule:
        """What may be answered to a first SYN. used: its 4-tuple had a connection before."""
        rule = syn_rule(
            sent.flags,
            sent.offer,
            sent.size,
            self.flow.port,
            self.client,
            self.jar,
            self.profile,
            sent.options,
            wraps=wraps,
        )
        if self.room is not None:
            rule = over_the_limit(rule, self.room, sent.size, sent.now, self.profile)
            if self.room.is_crowded(sent.now):
                self.note("crowded")
        if (used and self.profile.ports_rest) or self._crowded_out() or not sent.certain:
            rule = rule._replace(owed=False)
        return rule

    def _crowded_out(self) -> bool:
        """Whether the target may hold as many connections as it can."""
        if len(self.around) <= self.profile.connections:
            return False
        others = sum(each.states != LISTEN for each in self.around if each is not self)
        return others >= self.profile.connections

    def _note_opening(self, flags: int, offer: Offer, size: int, rule: SynRule) -> None:
        if flags & ~(SYN | FIN | PSH):
            self.note("odd-flags")
        if rule.early:
            self.note("open")
            if not size:
                self.note("cookie-alone")
        elif any(isinstance(each, opt.FastOpen) and each.cookie for each in offer.fast_open):
            self.note("refused")
        elif size:
            self.note("plain-data")

    def _sent_ack(self, sent: Sent) -> None:
        seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
        ack = sent.ack or 0
        fin = bool(flags & FIN)
        old = self.states
        self.releases += self.iss is not None and not (size or fin)
        if old == LISTEN and not _may_be_dropped(sent):
            self.want_rst(ack, 0)
        if old & LISTEN:
            self.rst_pardoned = True
        if old == LISTEN:
            return
        if self.iss is None:
            # It acknowledges what nobody can know.
            self.may_end()
            return
        pending = self.may.fin
        if pending is not None and not self.may.ended and (size or fin):
            end = seq + size
            if end > pending or (fin and end != pending):
                # A FIN waits for what is before it, and this says that the stream goes on.
                self.vague = True
                return
        in_order = seq <= self.may.next
        may_seq, must_seq = self.acceptable(seq, size + fin)
        may_time, must_time = self.timely(offer)
        if offer.times is not None:
            self.times_sent.add(offer.times[0])
            if in_order:
                # Old ones count for some, as long as they end where the window was last told.
                self.times_may = later(self.times_may, offer.times[0])
        if self.their_fin is not None and ack > self.their_fin and self.may.ended:
            # LAST-ACK is over, or is held for a while (paper 3.5).
            self.may_end()
            self.wants_answer = False
            old = 0
        discarded = _may_be_dropped(sent) or (self.timestamps and offer.times is None)
        may_ack = ack <= 1 + self.answer_size + self.may.ended
        must_ack = 1 <= ack <= self.received
        may = may_seq and may_time
        sure = must_time and must_ack and not (self.vague or _may_be_dropped(sent))
        if size and self.may.ended:
            # Behind its FIN nothing is text (RFC 9293 section 3.10.7.4, seventh step); to an
            # application that has closed it is a reason for RST (RFC 1122 section 4.2.2.13).
            sure = False
            self.may_end()
        must = must_seq and sure
        # What was kept when it came before its turn is in its place now, or was before.
        taken = sure and (must_seq or self.reaches(seq, size + fin))
        if not may_time:
            self.note("old-timestamp")
        if old & RCVD and not must_ack:
            self.note("bad-ack")
            self.rst_pardoned = True
            if not may_ack or ack < 1:
                # RST, or an ACK under RFC 5961 section 5.2; whether the connection goes on is
                # left open.
                self.states |= LISTEN
                self.want_answer(old == RCVD and not discarded)
                if old == RCVD:
                    return
        elif not may_ack:
            self.note("bad-ack")
            self.want_answer(False)
            return
        scaled = sent.window << (self.scale or 0)
        if must_ack:
            # Also the window of an old segment was offered.
            self.limit = max(self.limit, ack + scaled)
        if not may:
            bare = not may_time and not (size or fin)
            self.want_answer(old == OPEN and not (discarded or bare))
            return
        if (size or fin) and not must:
            self.want_answer(False)
        if old == RCVD:
            self.states = OPEN if taken else RCVD | OPEN
            if taken:
                self.opened_at = now
            if size:
                self.note("text-with-ack")
        elif old & RCVD:
            self.states = old & ~RCVD | OPEN if taken else old | OPEN
        if size and must and old != RCVD and old != OPEN and seq <= self.must.next:
            # A RST, or an ACK: only a stack that hangs says nothing.
            self.want_answer(True)
        if fin and (not taken or seq + size < max((b for _, b in self.sent_text), default=0)):
            # Nobody can tell where the stream ends: a FIN that may not count, or inside text.
            self.vague = True
            return
        if size or fin:
            self.add_text(seq, size, fin, wrong=sent.wrong, taken=taken)
            if flags & (PSH | FIN):
                self.pushed = max(self.pushed, seq + size)
        # Last.ACK.sent of RFC 7323 section 4.3 is at least what came.
        fresh = in_order and seq <= self.acked and ack >= self.our_ack
        if must and fresh and offer.times is not None:
            self.times_must = offer.times[0]
        if ack > self.our_ack and must_ack:
            self.our_ack = ack
            self.slowest = max(self.slowest, now - self.progress_at)
            self.their_last, self.their_repeats = now, 0
        if must and ack > self.sure_ack:
            self.sure_ack, self.progress_at = ack, now
        if scaled < 4096:
            self.note("window")
        if must_ack:
            self.add_window(seq, ack + scaled, now, sure=must)


def _asks(offer: Offer) -> tuple[bool, int | None, bool]:
    """What a SYN offers, values of clocks left out."""
    return offer.times is not None, offer.scale, offer.sack


def _may_be_dropped(sent: Sent) -> bool:
    """A segment that may not have come, whose options are malformed, or that is signed with a key
    that the target has not."""
    return not sent.certain or sent.offer.unsound or bool(SIGNED & set(sent.offer.strange))
