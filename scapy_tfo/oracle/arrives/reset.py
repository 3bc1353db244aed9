"""A RST of ours (RFC 9293 section 3.10.7.4, second step, and RFC 5961 section 3.2)."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.state import ANY_WINDOW, LISTEN, Connection


def rst(link: Connection, sent: Sent) -> None:
    seq, size, offer, now = sent.seq, sent.size, sent.offer, sent.now
    if link.states == LISTEN:
        return
    link.note("rst")
    if link.iss is None:
        # It may have been believed or not, and the SYN-ACK that comes tells nothing.
        link.vague = True
    link.releases += link.iss is not None
    if link.profile.stateless:
        # What keeps nothing has nothing that a RST could end, and an ACK opens it once more.
        link.vague = True
    low, high = link.must.next, link.may.next
    old_time = offer.times is not None and not link.timely(offer)[1]
    # To take one with text is a SHOULD (RFC 9293 section 3.5.3, SHLD-2).
    sure = not (size or old_time) and link.iss is not None and sent.certain
    if low == seq == high and sure:
        link.states = LISTEN
        link.reset_at = now
        link.wants_answer = False
        # What was sent just before may be answered with a RST of its own.
        link.rst_overtaken = link.rst_pardoned and link.unsettled > 0
    elif low - link.may.ended <= seq < high + ANY_WINDOW:
        # Some take one at the number of the FIN, too; others answer with an ACK.
        link.states |= LISTEN
        link.want_answer(False)
    link.rst_pardoned = link.rst_pardoned or link.states != LISTEN
