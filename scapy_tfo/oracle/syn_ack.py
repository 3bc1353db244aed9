"""Judges SYN-ACKs, the first one and those that repeat it, by the rule for their SYN."""

from __future__ import annotations

from scapy_tfo.option import FastOpen
from scapy_tfo.oracle.reassembly import Assembly
from scapy_tfo.oracle.state import AFTER, LISTEN, OPEN, RCVD, Knowledge
from scapy_tfo.oracle.stream import take_text
from scapy_tfo.oracle.syn import SynRule
from scapy_tfo.oracle.syn_ack_options import check_options, take_grant
from scapy_tfo.packet import Reply
from scapy_tfo.program.options import Offer
from scapy_tfo.segment import FIN

_MASK = 0xFFFFFFFF
_SURE_LIFE = 25.0
"""Seconds for which any cookie is good: no server changes its key several times a minute."""


def syn_ack(
    link: Knowledge, reply: Reply, offer: Offer, number: int, now: float, packet: int
) -> None:
    rule = link.rule
    assert rule is not None
    if link.iss is None:
        _first_syn_ack(link, reply, offer, number, now, packet)
        return
    assert link.taken is not None
    again = (reply.seq, number) == (link.iss, link.base + 1 + link.taken)
    if not again:
        more = number - link.base - 1 > link.taken
        late = link.states == OPEN and link.opened_at is not None
        default = "AFT-11" if late else "ACC-3" if more else "ACC-8a"
        link.blame(
            "another-syn-ack",
            default,
            f"the SYN-ACK as before, acknowledging {link.base + 1 + link.taken}",
            f"ISS moved by {(reply.seq - link.iss) & _MASK}, acknowledging {number}",
            group="resend",
            reply="syn-ack",
            packet=packet,
        )
    elif (
        link.states == OPEN
        and link.opened_at is not None
        and now - link.opened_at > AFTER
        and "syn-when-open" not in link.features
    ):
        link.blame(
            "syn-ack-when-open",
            "AFT-2" if "fin" in link.features else "AFT-11",
            "no SYN-ACK after the handshake",
            "SYN-ACK",
            group="end" if "fin" in link.features else "",
            reply="syn-ack",
            packet=packet,
        )
    _must_be_bare(link, reply, offer, now, packet)
    if again:
        check_options(link, reply, offer, packet, first=False)
    link.syn_acks += 1
    link.syn_ack_at = link.their_last = now
    link.their_repeats += 1


def _must_be_bare(link: Knowledge, reply: Reply, offer: Offer, now: float, packet: int) -> None:
    """A repeated SYN-ACK has neither data nor a Fast Open option (RFC 7413 section 4.2.2)."""
    by_timer = now - max(link.syn_ack_at, link.syn_at) > AFTER
    if reply.payload or reply.flags & FIN:
        link.blame(
            "repeated-text",
            "ACC-8",
            "no data in a repeated SYN-ACK",
            f"{len(reply.payload)} bytes",
            reply="syn-ack",
            packet=packet,
        )
    if offer.fast_open and (by_timer or not link.offer.fast_open):
        link.blame(
            "repeated-option",
            "ACC-8",
            "no option in a repeated SYN-ACK",
            "a Fast Open option",
            reply="syn-ack",
            packet=packet,
        )


def _first_syn_ack(
    link: Knowledge, reply: Reply, offer: Offer, number: int, now: float, packet: int
) -> None:
    rule = link.rule
    assert rule is not None
    link.iss = reply.seq
    link.states = RCVD
    taken = number - link.base - 1
    size = link.sent_end - link.base - 1
    if not 0 <= taken <= size:
        link.blame(
            "syn-ack-number",
            "ACC-10",
            f"acknowledging {link.base + 1} to {link.base + 1 + size}",
            f"acknowledging {number}",
            group="number",
            reply="syn-ack",
            packet=packet,
        )
        taken = min(max(taken, 0), size)
    elif taken > rule.most + link.syn_fin:
        link.blame(
            "takes-text",
            rule.taken,
            f"acknowledging {link.base + 1}: no right to its text",
            f"acknowledging {number}",
            reply="syn-ack",
            packet=packet,
        )
    elif taken < rule.least and not _may_be_stale(link, offer, now):
        link.blame(
            "refuses-text",
            _refused(link, rule, offer, taken),
            f"acknowledging {link.base + 1 + rule.least}: the cookie is good",
            f"acknowledging {number}",
            group="number" if taken else "" if offer.fast_open or link.room else "opening",
            reply="syn-ack",
            packet=packet,
        )
    link.taken = taken
    if size and not taken and rule.early:
        link.features.add("refused")
    link.accepted = rule.early and (taken > 0 or size == link.syn_fin)
    link.answer = offer
    fin = link.syn_fin and taken == size
    end = link.base + 1 + taken - fin
    link.may, link.must = Assembly(link.base + 1), Assembly(link.base + 1)
    link.may.add(link.base + 1, end, fin)
    link.must.add(link.base + 1, end, fin)
    link.acked = number
    link.syn_acks = 1
    link.syn_ack_at = link.their_last = now
    link.their_repeats = 0
    _agree(link, reply, offer, number)
    take_grant(link, offer, now, packet)
    check_options(link, reply, offer, packet, first=True)
    if reply.payload:
        take_text(link, reply, 1, now, packet, "syn-ack")


def _refused(link: Knowledge, rule: SynRule, offer: Offer, taken: int) -> str:
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


def _agree(link: Knowledge, reply: Reply, offer: Offer, number: int) -> None:
    """What holds from the SYN-ACK on: options, the window, and whether anything is kept."""
    link.timestamps = offer.times is not None and link.offer.times is not None
    link.sack = offer.sack and link.offer.sack
    both = offer.scale is not None and link.offer.scale is not None
    link.scale = link.offer.scale if both else None
    link.room_end = number + reply.window
    if link.profile.stateless and not link.taken:
        # Nothing is kept of the SYN until an ACK brings back its SYN-ACK's number.
        link.states |= LISTEN


def _may_be_stale(link: Knowledge, offer: Offer, now: float) -> bool:
    """Whether the cookie is too old to be good for sure (RFC 7413 section 4.1.2): servers change
    their keys, and mostly say so by another cookie."""
    presented = [each.cookie for each in link.offer.fast_open if isinstance(each, FastOpen)]
    age = min((link.jar.age(each, now) for each in presented), default=0.0)
    last = link.profile.cookies_last
    if last or age < _SURE_LIFE:
        return False
    given = [each.cookie for each in offer.fast_open if isinstance(each, FastOpen)]
    return last is False or any(each not in presented for each in given)


def _came_with_a_refusal(other: Knowledge, link: Knowledge) -> bool:
    """Whether the cookie of a SYN is one that another flow got when its own was refused."""
    presented = [each.cookie for each in link.offer.fast_open if isinstance(each, FastOpen)]
    granting = other.rule is None or other.rule.granting
    return other is not link and not granting and other.cookie in presented
