"""The target's obligations: replies due at once, and packets due by a timer."""

from __future__ import annotations

from typing import NamedTuple

from scapy_tfo.oracle.parts.rules import RULES, Breach, Rule, Table, duty
from scapy_tfo.oracle.parts.state import LISTEN, OPEN, RCVD, Connection

_FIRST_TIMEOUT = 3.5
"""Seconds within which what is lost is sent again: RFC 6298 has 1, or 3 after a lost handshake
(section 5.7), and some time for the way."""
_TRIPS = 4
_TICK = 1.0
"""Seconds, of the coarsest clock of timestamps (RFC 7323 section 5.4)."""


class Debt(NamedTuple):
    """Something that has not come. late: whether it may come some time later.

    An application has a hand in text and FIN, and an ACK may be delayed by half a second (RFC 9293
    section 3.8.6.3).
    """

    rule: str
    requirement: str
    group: str
    expected: str
    late: bool


# What is owed at once, or as soon as the application has answered.


@duty("no-rst", source="RFC 9293 section 3.10.7.1", requirement="AFT-9", group="silence")
def no_rst(link: Connection) -> Breach:
    clause = "ACC-12a" if link.flow.port == "closed" else ""
    return Breach("RST: there is no connection", requirement=clause)


@duty("no-syn-ack", source="RFC 9293 section 3.10.7.2", requirement="SRV-9", group="opening")
def no_syn_ack(link: Connection) -> Breach:
    assert link.handshake.rule is not None
    group = "" if link.room is not None else None
    return Breach("a SYN-ACK", requirement=link.handshake.rule.silent, group=group)


@duty(
    "no-ack",
    source="RFC 9293 section 3.10.7.4",
    requirement="ACC-9",
    group="stream",
    late=True,
)
def no_ack(link: Connection) -> Breach:
    must = link.outbound.must
    clause = "AFT-2" if must.ended and link.outbound.acked == must.next - 1 else ""
    return Breach(f"acknowledging {must.next}", requirement=clause)


@duty(
    "no-answer",
    source="RFC 9293 section 3.10.7.4",
    requirement="ACC-9",
    group="stream",
    late=True,
)
def no_answer(link: Connection) -> Breach:
    if link.states == RCVD:
        return Breach("RST, or an ACK", requirement="AFT-4", group="silence")
    return Breach("RST, or an ACK", group="silence" if link.states == OPEN else None)


@duty("no-text", source="RFC 9293 section 3.9.1", requirement="ACC-9", group="stream", late=True)
def no_text(link: Connection) -> Breach:
    must = link.outbound.must
    return Breach(f"the echo of {must.next - link.outbound.base - 1 - must.ended} bytes")


@duty("no-fin", source="RFC 9293 section 3.10.4", requirement="AFT-2", group="end", late=True)
def no_fin(_link: Connection) -> Breach:
    return Breach("FIN in answer to FIN")


# What is owed when a timer has run out.


@duty("no-repeat", source="RFC 6298 section 5", requirement="AFT-3", group="resend")
def no_repeat(link: Connection) -> Breach:
    return Breach("the SYN-ACK again" if link.states == RCVD else "what is not acknowledged, again")


@duty("no-probe", source="RFC 9293 section 3.8.6.1", requirement="AFT-7")
def no_probe(link: Connection) -> Breach:
    closed = link.inbound.edge <= link.inbound.received
    return Breach("a probe of the closed window" if closed else "text into the narrow window")


_AT_ONCE = Table(no_rst, no_syn_ack, no_ack, no_answer, no_text, no_fin)
_AT_ONCE_NUMBER = _AT_ONCE.number
_BY_TIMER = Table(no_repeat, no_probe)


def owes(link: Connection) -> Rule | None:
    """The rule by which the target owes something on this flow."""
    if link.vague:
        return None
    states = link.states
    if states == OPEN:
        return _owed_when_open(link)
    if states == LISTEN:
        return None if link.owed.rst is None else no_rst
    if link.handshake.iss is None:
        return no_syn_ack if states == RCVD and link.handshake.rule is not None else None
    return no_answer if link.owed.answer else None


def _owed_when_open(link: Connection) -> Rule | None:
    outbound, inbound = link.outbound, link.inbound
    must = outbound.must
    if outbound.acked < must.next:
        return no_ack
    if link.owed.answer:
        return no_answer
    received = inbound.received
    if inbound.sure_ack < received or inbound.fin is not None:
        # What is on its way may hold back the rest (RFC 9293 section 3.7.4).
        return None
    if 1 + link.text_due > received:
        # More than is due may have been handed over, and then all of it waits for room.
        whole = 1 + link.application.due(must.next - must.ended - outbound.base - 1) - received
        return no_text if inbound.edge - received >= min(whole, inbound.mss) else None
    # FIN takes a number, and may wait for a window like text.
    due = inbound.edge > received and must.ended and link.application.closes
    return no_fin if due else None


def asked(link: Connection) -> Rule | None:
    """As `owes`, and counted."""
    watch = link.watch
    watch.passes[_AT_ONCE_NUMBER] += 1
    rule = owes(link)
    if rule is not None:
        watch.due[rule.number] += 1
    return rule


def debt_of(link: Connection) -> Debt | None:
    """The first thing that the target owes on this flow, None where it owes nothing."""
    rule = asked(link)
    return None if rule is None else _debt(link, rule)


def blame_debt(link: Connection, debt: Debt) -> None:
    """Note that a debt was not paid."""
    heard = ", ".join(link.evidence.heard[-4:]) or "nothing"
    link.watch.broken[RULES[debt.rule].number] += 1
    link.blame(debt.rule, debt.requirement, debt.expected, heard, group=debt.group)


def _debt(link: Connection, rule: Rule) -> Debt:
    found = rule.missing(link)
    return Debt(
        rule.id,
        found.requirement or rule.requirement,
        rule.group if found.group is None else found.group,
        found.expected,
        rule.late,
    )


_PROBED = 6.5
"""Seconds within which a closed window is probed (RFC 9293 section 3.8.6.1)."""


def overdue(link: Connection, now: float) -> Debt | None:
    """What should have been sent again by now (RFC 6298 section 5, RFC 9293 section 3.8.1)."""
    if link.vague or link.handshake.iss is None:
        return None
    # With the largest gains, less than four trips as slow as we made one (RFC 6298 section 2).
    slowest = link.timers.slowest
    first = max(_FIRST_TIMEOUT, _TRIPS * (slowest + (slowest > _TICK)))
    since, doubled = link.timers.heard_at, 1 << min(link.timers.repeats, 5)
    if link.states == RCVD and link.handshake.syn_acks < 4:
        rule, least = no_repeat, _FIRST_TIMEOUT
    elif link.states == OPEN and link.inbound.received > link.inbound.may_ack:
        rule, least = no_repeat, first
    elif link.states == OPEN and _held_back(link):
        rule, least = no_probe, max(_PROBED, first)
        since = max(since, link.timers.asked_at)
    else:
        return None
    wait = (now - since) / doubled
    watch = link.watch
    watch.passes[_BY_TIMER.number] += 1
    # What came again shows that the rule was kept.
    watch.due[rule.number] += wait > least or link.timers.repeats > 0
    return _debt(link, rule) if wait > least else None


def _held_back(link: Connection) -> bool:
    """There is text to send, all that was sent is acknowledged, and the window is closed, or so
    narrow that it waits for more (RFC 9293 section 3.8.6.2.1)."""
    text, inbound = link.text_due, link.inbound
    narrow = inbound.edge - inbound.received < min(1 + text - inbound.received, inbound.mss)
    return narrow and inbound.received == inbound.our_ack <= text
