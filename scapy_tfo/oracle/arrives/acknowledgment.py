"""A segment of ours with ACK: the steps that it passes, in their order.

They are those of RFC 9293 section 3.10.7.4, but that the end of a connection that both have closed
comes before the test of what is acknowledged.
"""

from __future__ import annotations

from scapy_tfo.oracle.arrives.arrival import Arrival, Step
from scapy_tfo.oracle.arrives.text import progress, segment_text
from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.state import LISTEN, OPEN, RCVD, Connection


def with_ack(link: Connection, sent: Sent) -> None:
    """We sent a segment with ACK, and neither SYN nor RST."""
    arrival = Arrival(sent, link.states)
    for step in _STEPS:
        if not step(link, arrival):
            return


def _no_connection(link: Connection, it: Arrival) -> bool:
    """RST is owed where there is none (3.10.7.1 and 3.10.7.2)."""
    iss = link.handshake.iss
    if iss is not None and not it.length:
        link.history.release()
    if it.old == LISTEN and not it.dropped:
        link.owed.want_rst(it.ack, 0)
    if it.old & LISTEN:
        link.owed.pardon()
    if it.old == LISTEN:
        return False
    if iss is None:
        # It acknowledges what nobody can know.
        link.may_end()
        return False
    return True


def _past_pending_fin(link: Connection, it: Arrival) -> bool:
    """A FIN that came before its turn waits, or was thrown away; and this may say that there is
    more."""
    pending = link.outbound.may.fin
    if pending is None or not it.length:
        return True
    end = it.sent.seq + it.sent.size
    if link.outbound.must.ended:
        if it.fin and end > pending:
            # The eighth step has RCV.NXT advance over any FIN, and the states that have one stay.
            link.blur()
            return False
        return True
    if end > pending or (it.fin and end != pending):
        link.blur()
        return False
    return True


def _numbers(link: Connection, it: Arrival) -> bool:
    """The tests of its sequence number (first step) and of its timestamp (RFC 7323 section 5.3)."""
    sent, outbound, times = it.sent, link.outbound, link.times
    it.in_order = sent.seq <= outbound.may.next
    it.may_seq, it.must_seq = outbound.acceptable(sent.seq, it.length)
    it.may_time, it.must_time = times.timely(sent.offer, paws=link.profile.paws)
    if sent.offer.times is not None:
        # Old ones count for some, as long as they end where the window was last told.
        times.send(sent.offer.times[0], counts=it.in_order)
    return True


def _both_closed(link: Connection, it: Arrival) -> bool:
    """LAST-ACK is over, or is held for a while (paper 3.5)."""
    fin = link.inbound.fin
    if fin is not None and it.ack > fin and link.outbound.may.ended:
        link.may_end()
        link.owed.answered()
        it.old = 0
    return True


def _certainty(link: Connection, it: Arrival) -> bool:
    """Whether it may, and must, be processed, by all of its fields."""
    outbound = link.outbound
    ended = outbound.may.ended
    it.may_ack = it.ack <= 1 + link.answer_size + ended
    it.must_ack = link.inbound.oldest <= it.ack <= link.inbound.received
    sure = it.must_time and it.must_ack and not (link.vague or it.dropped)
    if it.sent.size and ended:
        # Behind its FIN nothing is text (seventh step); to an application that has closed it is a
        # reason for RST (RFC 1122 section 4.2.2.13).
        sure = False
        link.may_end()
    it.sure = sure
    it.must = it.must_seq and sure
    # What was kept when it came before its turn is in its place now, or was before.
    it.taken = sure and (it.must_seq or outbound.reaches(it.sent.seq, it.length))
    if not it.may_time:
        link.note("old-timestamp")
    return True


def _ack_field(link: Connection, it: Arrival) -> bool:
    """The test of what it acknowledges (fifth step)."""
    if it.old & RCVD and not it.must_ack:
        link.note("bad-ack")
        link.owed.pardon()
        if not it.may_ack or it.ack < 1:
            # RST, or an ACK under RFC 5961 section 5.2; whether the connection goes on is left
            # open.
            link.enter(link.states | LISTEN)
            link.want_answer(it.old == RCVD and not _is_discarded(link, it), it.sent.now)
            return it.old != RCVD
    elif not it.may_ack:
        link.note("bad-ack")
        link.want_answer(False, it.sent.now)
        return False
    elif it.ack > link.inbound.received:
        # It may acknowledge what was not sent: the ACK that answers counts to what limits those.
        link.want_answer(False, it.sent.now)
    return True


def _acceptable(link: Connection, it: Arrival) -> bool:
    """An ACK is owed for what is not acceptable, and nothing else happens; but its window was
    offered."""
    inbound = link.inbound
    if 1 <= it.ack <= inbound.received:
        edge = it.ack + (it.sent.window << (inbound.scale or 0))
        inbound.extend(edge)
        if it.may_time:
            # Some read it in old text, too.
            inbound.may_acknowledge(it.ack)
        if it.length and not it.may_seq and link.outbound.may_still_read(it.sent.seq + it.length):
            inbound.offer(it.sent.seq, edge, it.sent.now, sure=False)
    if not (it.may_seq and it.may_time):
        bare = not it.may_time and not it.length
        link.want_answer(it.old == OPEN and not (bare or _is_discarded(link, it)), it.sent.now)
        return False
    if it.length and (not it.must or it.sent.seq > link.outbound.must.next):
        # The ACK of text before its turn may count to what limits such answers, too.
        link.want_answer(False, it.sent.now)
    return True


def _is_discarded(link: Connection, it: Arrival) -> bool:
    """Whether it may go unanswered, whatever is in it."""
    return it.dropped or (link.times.agreed and it.sent.offer.times is None)


def _opens(link: Connection, it: Arrival) -> bool:
    """From SYN-RCVD on to what is behind the handshake, surely or perhaps."""
    old, size = it.old, it.sent.size
    if old == RCVD:
        link.enter(OPEN if it.taken else RCVD | OPEN)
        if it.taken:
            link.handshake.end(it.sent.now)
        if size:
            link.note("text-with-ack")
    elif old & RCVD:
        link.enter(old & ~RCVD | OPEN if it.taken else old | OPEN)
    if size and it.must and old != RCVD and old != OPEN and it.sent.seq <= link.outbound.must.next:
        # A RST, or an ACK: only a stack that hangs says nothing.
        link.want_answer(True, it.sent.now)
    return True


_STEPS: tuple[Step, ...] = (
    _no_connection,
    _past_pending_fin,
    _numbers,
    _both_closed,
    _certainty,
    _ack_field,
    _acceptable,
    _opens,
    segment_text,
    progress,
)
