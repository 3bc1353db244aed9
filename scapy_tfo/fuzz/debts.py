"""What the target owes: at once, and by its retransmission timer."""

from __future__ import annotations

from typing import NamedTuple

from scapy_tfo.fuzz.knowledge import LISTEN, OPEN, RCVD, Knowledge

_FIRST_TIMEOUT = 3.5
"""Seconds within which what is lost is sent again: RFC 6298 has 1, or 3 after a lost handshake
(section 5.7), and some time for the way."""


class Debt(NamedTuple):
    """Something that has not come. late: whether an application has a hand in it."""

    rule: str
    requirement: str
    group: str
    expected: str
    late: bool


def debt_of(link: Knowledge) -> Debt | None:
    """The first thing that the target owes on this flow, None where it owes nothing."""
    if link.vague:
        return None
    if link.states == LISTEN:
        if link.wants_rst is None:
            return None
        clause = "ACC-12a" if link.flow.port == "closed" else "AFT-9"
        return Debt("no-rst", clause, "silence", "RST: there is no connection", False)
    if link.iss is None:
        if link.states != RCVD or link.rule is None:
            return None
        group = "" if link.room is not None else "opening"
        return Debt("no-syn-ack", link.rule.silent, group, "a SYN-ACK", False)
    if link.states == RCVD:
        if link.wants_answer:
            return Debt("no-answer", "AFT-4", "silence", "RST, or an ACK", False)
        return None
    if link.states == OPEN:
        return _debt_when_open(link)
    if link.wants_answer:
        return Debt("no-answer", "ACC-9", "stream", "RST, or an ACK", False)
    return None


def _debt_when_open(link: Knowledge) -> Debt | None:
    must = link.must
    if link.acked < must.next:
        clause = "AFT-2" if must.ended and link.acked == must.next - 1 else "ACC-9"
        return Debt("no-ack", clause, "stream", f"acknowledging {must.next}", False)
    if link.wants_answer:
        return Debt("no-answer", "ACC-9", "silence", "an ACK", False)
    if link.our_ack < link.received:
        # What is on its way may hold back the rest (RFC 9293 section 3.7.4).
        return None
    text = must.next - link.base - 1 - must.ended
    room = link.edge - link.received
    missing = 1 + text - link.received
    if missing > 0 and link.their_fin is None:
        if room >= min(missing, link.mss) > 0:
            return Debt("no-text", "ACC-9", "stream", f"the echo of {text} bytes", True)
    elif must.ended and link.their_fin is None:
        return Debt("no-fin", "AFT-2", "end", "FIN in answer to FIN", True)
    return None


_PROBED = 6.5
"""Seconds within which a closed window is probed (RFC 9293 section 3.8.6.1)."""


def overdue(link: Knowledge, now: float) -> Debt | None:
    """What should have been sent again by now (RFC 6298 section 5, RFC 9293 section 3.8.1)."""
    if link.vague or link.iss is None:
        return None
    # A round trip as slow as we made it (RFC 6298 section 2).
    first = max(_FIRST_TIMEOUT, 0.5 + 3.2 * link.slowest)
    wait = (now - link.their_last) / (1 << min(link.their_repeats, 5))
    if link.states == RCVD and link.syn_acks < 4:
        if wait > _FIRST_TIMEOUT:
            return Debt("no-repeat", "AFT-3", "resend", "the SYN-ACK again", False)
    elif link.states == OPEN and link.received > link.our_ack and wait > first:
        return Debt("no-repeat", "AFT-3", "resend", "what is not acknowledged, again", False)
    elif link.states == OPEN and _held_back(link) and wait > max(_PROBED, first):
        return Debt("no-probe", "AFT-7", "", "a probe of the closed window", False)
    return None


def _held_back(link: Knowledge) -> bool:
    """There is text to send, all that was sent is acknowledged, and the window is closed."""
    text = link.must.next - link.base - 1 - link.must.ended
    return link.edge <= link.received == link.our_ack <= text
