"""The target's obligations: replies due at once, and packets due by a timer."""

from __future__ import annotations

from typing import NamedTuple

from scapy_tfo.oracle.state import LISTEN, OPEN, RCVD, Knowledge

_FIRST_TIMEOUT = 3.5
"""Seconds within which what is lost is sent again: RFC 6298 has 1, or 3 after a lost handshake
(section 5.7), and some time for the way."""


class Debt(NamedTuple):
    """Something that has not come. late: whether it may come some time later."""

    rule: str
    requirement: str
    group: str
    expected: str
    late: bool


_LATE = frozenset(("no-text", "no-fin", "no-ack"))
"""What an application has a hand in, and what may be delayed by half a second (RFC 9293 section
3.8.6.3)."""


def owes(link: Knowledge) -> str:
    """The rule by which the target owes something on this flow; "" where it owes nothing."""
    states = link.states
    if link.vague:
        return ""
    if states == LISTEN:
        return "" if link.wants_rst is None else "no-rst"
    if link.iss is None:
        return "no-syn-ack" if states == RCVD and link.rule is not None else ""
    if states != OPEN:
        return "no-answer" if link.wants_answer else ""
    must = link.must
    if link.acked < must.next:
        return "no-ack"
    if link.wants_answer:
        return "no-answer"
    if link.sure_ack < link.received:
        # What is on its way may hold back the rest (RFC 9293 section 3.7.4).
        return ""
    missing = 1 + _text_due(link) - link.received
    if link.their_fin is not None:
        return ""
    if missing > 0:
        fits = link.edge - link.received >= min(missing, link.mss)
        return "no-text" if fits else ""
    # FIN takes a number, and may wait for a window like text.
    return "no-fin" if must.ended and link.edge > link.received else ""


def debt_of(link: Knowledge) -> Debt | None:
    """The first thing that the target owes on this flow, None where it owes nothing."""
    rule = owes(link)
    if not rule:
        return None
    requirement, group, expected = _described(link, rule)
    return Debt(rule, requirement, group, expected, rule in _LATE)


def _described(link: Knowledge, rule: str) -> tuple[str, str, str]:
    """Requirement, group of clauses, and what was expected."""
    must = link.must
    if rule == "no-rst":
        clause = "ACC-12a" if link.flow.port == "closed" else "AFT-9"
        return clause, "silence", "RST: there is no connection"
    if rule == "no-syn-ack":
        assert link.rule is not None
        return link.rule.silent, "" if link.room is not None else "opening", "a SYN-ACK"
    if rule == "no-ack":
        clause = "AFT-2" if must.ended and link.acked == must.next - 1 else "ACC-9"
        return clause, "stream", f"acknowledging {must.next}"
    if rule == "no-text":
        return "ACC-9", "stream", f"the echo of {must.next - link.base - 1 - must.ended} bytes"
    if rule == "no-fin":
        return "AFT-2", "end", "FIN in answer to FIN"
    if link.states == RCVD:
        return "AFT-4", "silence", "RST, or an ACK"
    return "ACC-9", "silence" if link.states == OPEN else "stream", "RST, or an ACK"


def _text_due(link: Knowledge) -> int:
    """Bytes that the echo has to send, from the first one on."""
    end = link.must.next - link.must.ended
    if link.profile.pushed_only and not link.must.ended:
        end = min(end, max(link.pushed, link.base + 1))
    return end - link.base - 1


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
    text = _text_due(link)
    return link.edge <= link.received == link.our_ack <= text
