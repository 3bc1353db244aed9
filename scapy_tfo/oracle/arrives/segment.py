"""What we send: works out in which states the target may be by then, how much of the stream it may
and must have taken, and what it owes in answer.

Sources: RFC 9293 section 3.10.7 if no other is named.
"""

from __future__ import annotations

from scapy_tfo.oracle.arrives.acknowledgment import with_ack
from scapy_tfo.oracle.arrives.reset import rst
from scapy_tfo.oracle.arrives.syn import syn, syn_ack
from scapy_tfo.oracle.parts.events import Icmp, Lies, Sent
from scapy_tfo.oracle.parts.state import RCVD, Connection
from scapy_tfo.segment import ACK, CWR, ECE, FIN, RST, SYN, URG


def sound(link: Connection, sent: Sent) -> None:
    """We sent a sound segment."""
    flags, offer, rested = sent.flags, sent.offer, link.is_at_rest
    if flags & SYN and flags & (ECE | CWR):
        link.history.ask_for_ecn()
    if flags & FIN:
        link.note("fin")
    if offer.fast_open and not (flags & SYN and not flags & ACK):
        link.note("option-elsewhere")
    if offer.unsound:
        link.note("unsound-options")
    if flags & (SYN | RST) == SYN | RST or flags & (SYN | ACK) == SYN | ACK:
        link.note("odd-syn")
    if flags & URG and not link.profile.inline:
        link.blur()
    if flags & RST:
        rst(link, sent)
    elif flags & SYN:
        if flags & ACK:
            syn_ack(link, sent)
        else:
            syn(link, sent)
    elif flags & ACK:
        with_ack(link, sent)
    else:
        link.note("no-ack-flag")
        link.want_answer(False, sent.now)
        if offer.times is not None:
            link.times.send(offer.times[0], counts=True)
    if sent.size:
        link.timers.ask(sent.now, at_rest=rested)
    link.owed.begin()
    link.history.begin()


def lie(link: Connection, sent: Sent, lies: Lies) -> None:
    """We sent a segment in which something is wrong."""
    if lies.reserved:
        link.note("odd-flags")
        if sent.flags & SYN:
            # One of them is AE.
            link.history.ask_for_ecn()
    if lies.traffic_class:
        link.note("traffic-class")
    if lies.checksum:
        link.note("bad-checksum")
    elif lies.offset:
        # Too small or too large it is no segment; else it is another one.
        link.note("bad-offset")
        if lies.fits:
            link.blur()
    elif lies.fragmented:
        _fragmented(link, sent)
    else:
        sound(link, sent)


def _fragmented(link: Connection, sent: Sent) -> None:
    """We sent a sound segment in fragments. Some drop every fragment, and over IPv6 a first one
    without the whole TCP header is dropped (RFC 8200 section 4.5): nothing new is owed."""
    before = link.owed.debts
    sound(link, sent)
    link.owed.owe_no_more_than(before)
    link.may_end()


def icmp(link: Connection, error: Icmp) -> None:
    """We sent an ICMP error about a segment of the target's."""
    link.note("icmp")
    # Whatever number it quotes: to check that is advice (RFC 5927 section 4.1), and a half-open
    # connection is ended by soft errors, too, by many (RFC 5461 section 4).
    if error.founded and not error.too_big and link.states & RCVD:
        link.may_end()
