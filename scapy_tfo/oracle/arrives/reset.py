"""A RST of ours (RFC 9293 section 3.10.7.4, second step, and RFC 5961 section 3.2)."""

from __future__ import annotations

from scapy_tfo.oracle.arrives.arrival import may_be_dropped
from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.state import LISTEN, Connection
from scapy_tfo.oracle.parts.streams import ANY_WINDOW


def rst(link: Connection, sent: Sent) -> None:
    seq, size, offer, now = sent.seq, sent.size, sent.offer, sent.now
    if link.states == LISTEN:
        return
    link.note("rst")
    owed, may = link.owed, link.outbound.may
    known = link.handshake.iss is not None
    if known:
        link.history.release()
    if not known or link.profile.stateless:
        # It may have been believed or not, and the SYN-ACK that comes tells nothing; and what keeps
        # nothing has nothing that a RST could end: an ACK opens it once more.
        link.blur()
    low, high = link.outbound.must.next, may.next
    old_time = offer.times is not None and not link.times.timely(offer)[1]
    # To take one with text is a SHOULD (RFC 9293 section 3.5.3, SHLD-2).
    sure = not (size or old_time or may_be_dropped(sent)) and known
    if low == seq == high and sure:
        link.enter(LISTEN)
        link.history.reset(now)
        owed.answered()
        owed.overtake()
    elif low - may.ended <= seq < high + ANY_WINDOW or seq < low < seq + size:
        # Some take one at the number of the FIN, too, or whose text reaches into the window; others
        # answer with an ACK.
        link.enter(link.states | LISTEN)
        link.history.perhaps_reset(now)
        link.want_answer(False, now)
    elif size and seq + size == low:
        # Linux counts what ends where the window begins as within it: not believed, but answered.
        link.want_answer(False, now)
    if link.states != LISTEN:
        owed.pardon()
