"""The text, the FIN and the window of a segment of ours (RFC 9293 section 3.10.7.4, seventh and
eighth step)."""

from __future__ import annotations

from scapy_tfo.oracle.arrives.arrival import Arrival
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.segment import FIN, PSH


def segment_text(link: Connection, it: Arrival) -> bool:
    """What may and must be taken of it."""
    if not it.length:
        return True
    seq, size = it.sent.seq, it.sent.size
    if it.fin and not _ends_the_stream(link, it):
        # Nobody can tell where the stream ends: a FIN that may not count, or inside text.
        link.vague = True
        return False
    link.add_text(seq, size, it.fin, wrong=it.sent.wrong, taken=it.taken)
    if it.sent.flags & (PSH | FIN):
        link.pushed = max(link.pushed, seq + size)
    return True


def _ends_the_stream(link: Connection, it: Arrival) -> bool:
    """Whether the stream ends with a FIN, if it comes."""
    end = it.sent.seq + it.sent.size
    if end < max((b for _, b in link.sent_text), default=0):
        return False
    return it.taken or (not it.sent.certain and it.must_time and it.must_ack)


def progress(link: Connection, it: Arrival) -> bool:
    """The recent timestamp (RFC 7323 section 4.3), what was acknowledged, and the window."""
    sent, ack = it.sent, it.ack
    # Last.ACK.sent of RFC 7323 section 4.3 is at least what came.
    fresh = it.in_order and sent.seq <= link.acked and ack >= link.our_ack
    if it.must and fresh and sent.offer.times is not None:
        link.times_must = sent.offer.times[0]
    if ack > link.our_ack and it.must_ack:
        link.our_ack = ack
        link.slowest = max(link.slowest, sent.now - link.progress_at)
        link.their_last, link.their_repeats = sent.now, 0
    if it.must and ack > link.sure_ack:
        link.sure_ack, link.progress_at = ack, sent.now
    scaled = sent.window << (link.scale or 0)
    if scaled < 4096:
        link.note("window")
    if it.must_ack:
        link.add_window(sent.seq, ack + scaled, sent.now, sure=it.must)
    return True
