"""Judges SYN-ACKs, the first one and those that repeat it, by the rule for their SYN."""

from __future__ import annotations

from scapy_tfo.option import FastOpen
from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.handshake import SynRule
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, Table, judge, rule
from scapy_tfo.oracle.parts.state import AFTER, LISTEN, OPEN, RCVD, Connection
from scapy_tfo.oracle.replies.reset import reset
from scapy_tfo.oracle.replies.syn_ack_options import OPTIONS, syn_ack_options, take_grant
from scapy_tfo.oracle.replies.text import ENDS, PAYLOAD, PLACE, take_text
from scapy_tfo.oracle.replies.timestamps import VALUES, learn_times, may_be_open
from scapy_tfo.program.options import Offer
from scapy_tfo.segment import FIN

_MASK = 0xFFFFFFFF


def syn_ack(link: Connection, came: Came) -> None:
    """A SYN-ACK came."""
    if link.handshake.iss is None:
        _first_syn_ack(link, came)
    else:
        judge(link, came, _AGAIN)
        link.handshake.answer_again(came.now)
        link.timers.hear(came.now, repeated=True)
    may_be_open(link, came.offer)
    if came.offer.times is not None:
        judge(link, came, _VALUES)
        learn_times(link, came)


def _first_syn_ack(link: Connection, came: Came) -> None:
    shake, outbound = link.handshake, link.outbound
    syn = shake.rule
    assert syn is not None
    came.first = True
    shake.begin_answer(came.reply.seq)
    # Another SYN behind the one that is answered may have ended the handshake meanwhile.
    other = "other-syn" in link.evidence.features
    link.enter(RCVD | link.states & LISTEN if other else RCVD)
    first = outbound.base + 1
    came.taken = came.number - first
    came.size = size = outbound.sent_end - first
    judge(link, came, _FIRST)
    taken = min(max(came.taken, 0), size)
    if taken != came.taken:
        # It answers another SYN, or is wrong, which the rules of traffic say: either way nothing is
        # known of this connection.
        link.blur()
    if size and not taken and syn.early:
        link.evidence.refused()
    accepted = syn.early and (taken > 0 or size == shake.fin)
    shake.answer(taken, came.now, accepted=accepted)
    link.history.learn_answer(came.offer)
    fin = shake.fin and taken == size
    outbound.answer(came.number, first + taken - fin, came.reply.window, fin=fin)
    link.timers.hear(came.now, repeated=False)
    _agree(link, came)
    judge(link, came, OPTIONS)
    take_grant(link, came)
    if came.reply.payload:
        came.most = 1 + link.answer_size
        judge(link, came, _TEXT_AND_FIN if came.reply.flags & FIN else _TEXT)
        take_text(link, came)


def _is_again(link: Connection, came: Came) -> bool:
    """Whether a SYN-ACK has the numbers of the first one."""
    assert link.handshake.taken is not None
    return (came.reply.seq, came.number) == (
        link.handshake.iss,
        link.outbound.base + 1 + link.handshake.taken,
    )


@rule("another-syn-ack", source="RFC 9293 section 3.8.1", requirement="ACC-8a", group="resend")
def another_syn_ack(link: Connection, came: Came) -> Finding:
    """A repeated SYN-ACK has the numbers of the first one."""
    iss, taken = link.handshake.iss, link.handshake.taken
    assert iss is not None
    assert taken is not None
    if _is_again(link, came):
        return HELD
    first = link.outbound.base + 1
    if link.profile.stateless and not taken:
        # Each SYN has a SYN cookie of its own, which goes by its MSS and by the time (RFC 4987
        # section 3.6). Which SYN is acknowledged the rules of traffic judge.
        return None
    more = came.number - first > taken
    late = link.states == OPEN and link.handshake.opened_at is not None
    return Breach(
        f"the SYN-ACK as before, acknowledging {first + taken}",
        f"ISS moved by {(came.reply.seq - iss) & _MASK}, acknowledging {came.number}",
        "AFT-11" if late else "ACC-3" if more else "",
    )


@rule("syn-ack-when-open", source="RFC 9293 section 3.8.1", requirement="AFT-11")
def syn_ack_when_open(link: Connection, came: Came) -> Finding:
    """The SYN-ACK is not repeated when the handshake is over."""
    if (
        not _is_again(link, came)
        or link.states != OPEN
        or "syn-when-open" in link.evidence.features
    ):
        return None
    if link.handshake.opened_at is None or came.now - link.handshake.opened_at <= AFTER:
        return HELD
    fin = "fin" in link.evidence.features
    return Breach(
        "no SYN-ACK after the handshake", "SYN-ACK", "AFT-2" if fin else "", "end" if fin else None
    )


@rule("repeated-text", source="RFC 7413 section 4.2.2", requirement="ACC-8")
def repeated_text(_link: Connection, came: Came) -> Finding:
    """A repeated SYN-ACK has no data."""
    if not (came.reply.payload or came.reply.flags & FIN):
        return HELD
    return Breach("no data in a repeated SYN-ACK", f"{len(came.reply.payload)} bytes")


@rule("repeated-option", source="RFC 7413 section 4.2.2", requirement="ACC-8")
def repeated_option(link: Connection, came: Came) -> Finding:
    """A SYN-ACK that a timer repeats has no Fast Open option."""
    by_timer = came.now - max(link.handshake.syn_ack_at, link.handshake.syn_at) > AFTER
    if link.handshake.offer.fast_open and not by_timer:
        return None
    if not came.offer.fast_open:
        return HELD
    return Breach("no option in a repeated SYN-ACK", "a Fast Open option")


@rule("takes-text", source="RFC 7413 section 4.2.2", requirement="ACC-4")
def takes_text(link: Connection, came: Came) -> Finding:
    """Text is taken where a cookie, or the target's way without one, gives a right to."""
    syn = link.handshake.rule
    if syn is None or not 0 <= came.taken <= came.size:
        return None
    if came.taken <= syn.most + link.handshake.fin:
        return HELD
    return Breach(
        f"acknowledging {link.outbound.base + 1}: no right to its text",
        f"acknowledging {came.number}",
        syn.taken,
    )


@rule("refuses-text", source="RFC 7413 section 4.2.2", requirement="ACC-2", group="opening")
def refuses_text(link: Connection, came: Came) -> Finding:
    """The text of a good cookie's SYN is taken."""
    syn, taken = link.handshake.rule, came.taken
    if syn is None or not syn.least or not 0 <= taken <= came.size:
        return None
    if taken >= syn.least:
        return HELD
    if _may_be_stale(link, came.offer, came.now):
        return None
    return Breach(
        f"acknowledging {link.outbound.base + 1 + syn.least}: the cookie is good",
        f"acknowledging {came.number}",
        _refused(link, syn, came.offer, taken),
        "number" if taken else "" if came.offer.fast_open or link.room else None,
    )


_TEXT, _TEXT_AND_FIN = Table(*PLACE, *PAYLOAD), Table(*PLACE, *PAYLOAD, *ENDS)
_VALUES = Table(*VALUES)
_FIRST = Table(reset, takes_text, refuses_text)
_AGAIN = Table(another_syn_ack, syn_ack_when_open, repeated_text, repeated_option, syn_ack_options)


def _refused(link: Connection, rule: SynRule, offer: Offer, taken: int) -> str:
    """The requirement that is broken where a good cookie's text is not taken, or not all of it."""
    if taken:
        return "ACC-10"
    if not offer.fast_open:
        return rule.refused
    # A fresh cookie says that the target took the cookie for a wrong one.
    if any(_came_with_a_refusal(each, link) for each in link.around):
        return "SRV-5"
    if link.flow.port != "main" and len(link.around) == 1:
        return "SRV-3"
    return rule.refused if rule.refused.startswith("OPT") else "SRV-1"


def _agree(link: Connection, came: Came) -> None:
    """What holds from the SYN-ACK on: options, the window, and whether anything is kept."""
    offer = came.offer
    ours = link.handshake.offer
    link.times.agree(agreed=offer.times is not None and ours.times is not None)
    link.inbound.agree(None if offer.scale is None else ours.scale, sack=offer.sack and ours.sack)
    if link.profile.stateless and not link.handshake.taken:
        # Nothing is kept of the SYN until an ACK brings back its SYN-ACK's number.
        link.enter(link.states | LISTEN)


def _may_be_stale(link: Connection, offer: Offer, now: float) -> bool:
    """Whether the cookie is too old to be good for sure (RFC 7413 section 4.1.2): servers change
    their keys, and mostly say so by another cookie."""
    presented = [
        each.cookie for each in link.handshake.offer.fast_open if isinstance(each, FastOpen)
    ]
    age = min((link.jar.age(each, now) for each in presented), default=0.0)
    if age < link.profile.cookie_life:
        return False
    given = [each.cookie for each in offer.fast_open if isinstance(each, FastOpen)]
    return link.profile.cookies_last is not None or any(each not in presented for each in given)


def _came_with_a_refusal(other: Connection, link: Connection) -> bool:
    """Whether the cookie of a SYN is one that another flow got when its own was refused."""
    presented = [
        each.cookie for each in link.handshake.offer.fast_open if isinstance(each, FastOpen)
    ]
    granting = other.handshake.rule is None or other.handshake.rule.granting
    return other is not link and not granting and other.history.cookie in presented
