"""The text, the FIN and the window of a segment of ours (RFC 9293 section 3.10.7.4, seventh and
eighth step)."""

from __future__ import annotations

from scapy_tfo.oracle.arrives.arrival import Arrival
from scapy_tfo.oracle.parts.state import MUCH, OPEN, Connection
from scapy_tfo.segment import FIN, PSH


def segment_text(link: Connection, it: Arrival) -> bool:
    """What may and must be taken of it."""
    if not it.length:
        return True
    seq, size, outbound = it.sent.seq, it.sent.size, link.outbound
    if it.fin and not _ends_the_stream(link, it):
        # Nobody can tell where the stream ends: a FIN that may not count, or inside text.
        link.blur()
        return False
    due, held = outbound.must.next, outbound.may.next
    if seq > due:
        link.note("gap")
    elif seq < due < seq + size:
        link.note("overlap")
    taken = it.taken and link.states == OPEN
    outbound.add(seq, size, fin=it.fin, wrong=it.sent.wrong, taken=taken)
    if outbound.sent_end - outbound.base > MUCH:
        link.note("bulk")
    if it.sent.flags & (PSH | FIN) and taken and seq <= due and held < seq + it.length:
        # One that came before its turn may push nothing once that has come, and neither may a copy
        # of text that was held for its turn.
        outbound.push(seq + size)
    return True


def _ends_the_stream(link: Connection, it: Arrival) -> bool:
    """Whether the stream ends with a FIN, if it comes."""
    if not link.outbound.ends_with(it.sent.seq + it.sent.size):
        return False
    return it.taken or (not it.sent.certain and it.must_time and it.must_ack)


def progress(link: Connection, it: Arrival) -> bool:
    """The recent timestamp (RFC 7323 section 4.3), what was acknowledged, and the window."""
    sent, ack, inbound = it.sent, it.ack, link.inbound
    # Last.ACK.sent of RFC 7323 section 4.3 is at least what came. An acknowledgement that may be an
    # old one is where Linux stops reading.
    fresh = it.in_order and sent.seq <= link.outbound.acked and ack >= inbound.may_ack
    if it.must and fresh and sent.offer.times is not None:
        link.times.advance(sent.offer.times[0])
    if ack > inbound.our_ack and it.must_ack:
        inbound.acknowledge(ack)
        link.timers.acknowledge(sent.now)
    if it.must and ack > inbound.sure_ack:
        inbound.settle(ack)
        link.timers.progress(sent.now)
    scaled = sent.window << (inbound.scale or 0)
    if scaled < 4096:
        link.note("window")
    # Beside an older acknowledgement, or one of what may not have been sent yet, a window counts
    # for some, and for others not.
    inbound.may_acknowledge(ack)
    sure = it.must and it.must_ack and ack >= inbound.may_ack
    if sure and sent.seq >= inbound.newest:
        inbound.widen(scaled)
    if sent.seq < inbound.newest:
        # It moves SND.UNA, and leaves SND.WND as it is (RFC 9293 section 3.10.7.4).
        inbound.extend(ack + inbound.widest)
    inbound.offer(sent.seq, ack + scaled, sent.now, sure=sure)
    return True
