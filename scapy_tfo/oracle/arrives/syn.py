"""A SYN of ours, or a SYN with ACK (RFC 9293 sections 3.10.7.2 and 3.10.7.4, fourth step)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.arrives.arrival import may_be_dropped
from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.state import ANY_WINDOW, LISTEN, OPEN, RCVD, SOON, Connection
from scapy_tfo.oracle.parts.syn import SynRule, over_the_limit, syn_rule
from scapy_tfo.program.options import Offer
from scapy_tfo.segment import FIN, PSH, SYN


def syn_ack(link: Connection, sent: Sent) -> None:
    link.note("bad-ack")
    link.rst_pardoned = True
    if link.states == LISTEN:
        if not may_be_dropped(sent):
            link.want_rst(sent.ack or 0, 0)
    else:
        link.states |= LISTEN


def syn(link: Connection, sent: Sent) -> None:
    seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
    if link.states == LISTEN:
        _first_syn(link, sent)
        if sent.wrong and size:
            link.odd_text.append((seq + 1, seq + 1 + size))
        return
    link.syn_at = now
    again = seq == link.base
    if link.states & LISTEN:
        # Of two that are alike it makes no difference which one comes.
        alike = again and size == link.syn_size and offer == link.offer and link.iss is None
        link.vague = link.vague or sent.certain or not alike
        return
    if link.states & OPEN:
        link.note("syn-when-open")
    else:
        link.note("duplicate-syn" if again else "other-syn")
        if again and size and (sent.wrong or size != link.syn_size):
            link.note("other-data-in-syn")
    end = seq if again and link.states == RCVD else seq + 1 + size
    in_window = seq < link.may.next + ANY_WINDOW and end > link.must.next
    if in_window or seq == link.must.next:
        # RFC 9293 lets it reset the connection, RFC 5961 section 4.2 has it challenged.
        link.may_end()
        link.want_answer(False)
    elif link.states == OPEN:
        # Without the timestamps that were agreed on it may be dropped (RFC 7323 section 3.2).
        untimed = link.timestamps and offer.times is None
        # And one with FIN is refused by most stacks, by some before they look for a connection.
        refused = untimed or bool(flags & FIN)
        link.want_answer(not (refused or may_be_dropped(sent)))
    else:
        # It may be answered with an ACK, too, also where a SYN-ACK went out before (RFC 5961 4.2).
        link.want_answer(False)
    if _asks(offer) != _asks(link.offer):
        link.other_offers = True
    if offer.times is not None:
        link.times_sent.add(offer.times[0])


def _first_syn(link: Connection, sent: Sent) -> None:
    seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
    if link.room is not None and link.accepted and link.reset_at is not None:
        link.room.leave_behind(link.reset_at)
    hasty = link.rule is not None and link.unsettled > 0
    used = not link.pristine
    if seq or used:
        link.begin_anew(seq)
    link.vague = link.vague or hasty
    length = 1 + size + bool(flags & FIN)
    link.sent_end = seq + length
    if link.flow.port == "closed":
        link.rst_pardoned = True
        if not link.unsettled and not may_be_dropped(sent):
            link.want_rst(0, seq + length)
        return
    near = link.isn + seq & 0xFFFFFFFF
    wraps = near + SOON > 0xFFFFFFFF or near < 1 << 31 <= near + SOON
    if wraps:
        link.note("wraps")
    if flags & FIN:
        link.note("syn-fin")
        link.syn_fin = True
    rule = _rule_for(link, sent, wraps=wraps, used=used)
    link.rule = rule
    link.offer = offer
    link.syn_size = size
    link.states = RCVD if rule.owed else RCVD | LISTEN
    link.limit = link.edge = 1 + sent.window
    if offer.mss is not None:
        link.mss = offer.mss
        if offer.mss < 1200:
            link.note("small-mss")
    if offer.times is not None:
        link.note("timestamps")
    _note_opening(link, sent, rule)
    if offer.times is not None:
        link.times_sent.add(offer.times[0])
        link.times_must = link.times_may = offer.times[0]
    link.sent_text.append((seq, seq + 1 + size))
    if flags & PSH:
        link.pushed = seq + 1 + size
    link.may.add(seq + 1, seq + 1 + rule.most, bool(flags & FIN) and rule.most == size)
    link.must.add(seq + 1, seq + 1 + rule.least)
    link.reset_at = None
    link.their_last = link.progress_at = now
    if sent.window < 4096:
        link.note("window")


def _rule_for(link: Connection, sent: Sent, *, wraps: bool, used: bool) -> SynRule:
    """What may be answered to a first SYN. used: its 4-tuple had a connection before."""
    rule = syn_rule(
        sent.flags,
        sent.offer,
        sent.size,
        link.flow.port,
        link.client,
        link.jar,
        link.profile,
        sent.options,
        wraps=wraps,
    )
    if link.room is not None:
        rule = over_the_limit(rule, link.room, sent.size, sent.now, link.profile)
        if link.room.is_crowded(sent.now):
            link.note("crowded")
    if (used and link.profile.ports_rest) or _is_crowded_out(link) or not sent.certain:
        rule = rule._replace(owed=False)
    return rule


def _is_crowded_out(link: Connection) -> bool:
    """Whether the target may hold as many connections as it can."""
    if len(link.around) <= link.profile.connections:
        return False
    others = sum(each.states != LISTEN for each in link.around if each is not link)
    return others >= link.profile.connections


def _note_opening(link: Connection, sent: Sent, rule: SynRule) -> None:
    if sent.flags & ~(SYN | FIN | PSH):
        link.note("odd-flags")
    if rule.early:
        link.note("open")
        if not sent.size:
            link.note("cookie-alone")
    elif any(isinstance(each, opt.FastOpen) and each.cookie for each in sent.offer.fast_open):
        link.note("refused")
    elif sent.size:
        link.note("plain-data")


def _asks(offer: Offer) -> tuple[bool, int | None, bool]:
    """What a SYN offers, values of clocks left out."""
    return offer.times is not None, offer.scale, offer.sack
