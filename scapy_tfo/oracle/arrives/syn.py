"""A SYN of ours, or a SYN with ACK (RFC 9293 sections 3.10.7.2 and 3.10.7.4, fourth step)."""

from __future__ import annotations

from scapy_tfo.oracle.arrives.arrival import may_be_dropped
from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.handshake import SynRule
from scapy_tfo.oracle.parts.state import LISTEN, OPEN, RCVD, SOON, Connection
from scapy_tfo.oracle.parts.streams import ANY_WINDOW
from scapy_tfo.oracle.parts.syn import over_the_limit, syn_rule
from scapy_tfo.segment import FIN, PSH, SYN


def syn_ack(link: Connection, sent: Sent) -> None:
    link.note("bad-ack")
    link.owed.pardon()
    if link.states == LISTEN:
        # With FIN beside it some drop it, whatever it acknowledges, as flags that make no sense.
        if not (may_be_dropped(sent) or sent.flags & FIN):
            link.owed.want_rst(sent.ack or 0, 0)
    else:
        link.enter(link.states | LISTEN)
    if sent.offer.times is not None:
        # With text it may reach into the window: then its timestamp is recorded before its SYN is
        # looked at (RFC 7323 section 5.3, R3).
        counts = sent.seq <= link.outbound.may.next
        link.times.send(sent.offer.times[0], counts=counts)


def syn(link: Connection, sent: Sent) -> None:
    seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
    if link.states == LISTEN:
        _first_syn(link, sent)
        if sent.wrong and size:
            link.outbound.distort(seq + 1, seq + 1 + size)
        return
    shake, outbound = link.handshake, link.outbound
    shake.ask_again(now)
    again = seq == outbound.base
    if link.states & LISTEN:
        # Of two that are alike it makes no difference which one comes.
        alike = again and size == shake.size and offer == shake.offer and shake.iss is None
        if sent.certain or not alike:
            link.blur()
            shake.ask_anew(offer)
        return
    if link.states & OPEN:
        link.note("syn-when-open")
    else:
        link.note("duplicate-syn" if again else "other-syn")
        if again and size and (sent.wrong or size != shake.size):
            link.note("other-data-in-syn")
    end = seq if again and link.states == RCVD else seq + 1 + size + bool(flags & FIN)
    low = outbound.must.next
    if (seq < outbound.may.next + ANY_WINDOW and end > low) or seq == low:
        # RFC 9293 lets it reset the connection, RFC 5961 section 4.2 has it challenged.
        link.may_end()
        link.want_answer(False, now)
    elif link.states == OPEN:
        # Without the timestamps that were agreed on it may be dropped (RFC 7323 section 3.2).
        untimed = link.times.agreed and offer.times is None
        # And one with FIN is refused by most stacks, by some before they look for a connection.
        refused = untimed or bool(flags & FIN)
        link.want_answer(not (refused or may_be_dropped(sent)), now)
    else:
        # It may be answered with an ACK, too, also where a SYN-ACK went out before (RFC 5961 4.2).
        link.want_answer(False, now)
    shake.ask_for_more(offer)
    if offer.times is not None:
        if again and link.states & RCVD:
            link.times.begin_again(offer.times[0])
        else:
            link.times.send(offer.times[0], counts=seq <= outbound.may.next)


def _first_syn(link: Connection, sent: Sent) -> None:
    seq, flags, size, offer, now = sent.seq, sent.flags, sent.size, sent.offer, sent.now
    history = link.history
    if link.room is not None:
        link.room.leave_behind(link)
    hasty = link.handshake.rule is not None and link.owed.unsettled > 0
    used = not history.pristine
    if seq or used:
        link.begin_anew(seq)
    if hasty:
        link.blur()
    shake, outbound = link.handshake, link.outbound
    length = 1 + size + bool(flags & FIN)
    outbound.occupy(seq + length)
    if link.flow.port == "closed":
        link.owed.pardon()
        if not link.owed.unsettled and not may_be_dropped(sent):
            link.owed.want_rst(0, seq + length)
        return
    near = link.isn + seq & 0xFFFFFFFF
    wraps = near + SOON > 0xFFFFFFFF or near < 1 << 31 <= near + SOON
    if wraps:
        link.note("wraps")
    if flags & FIN:
        link.note("syn-fin")
    rule = _rule_for(link, sent, wraps=wraps, used=used)
    shake.ask(rule, offer, size, fin=bool(flags & FIN))
    link.enter(RCVD if rule.owed else RCVD | LISTEN)
    link.inbound.open(sent.window, offer.mss)
    if offer.mss is not None and offer.mss < 1200:
        link.note("small-mss")
    if offer.times is not None:
        link.note("timestamps")
    _note_opening(link, sent, rule)
    if offer.times is not None:
        link.times.begin(offer.times[0])
    outbound.open(rule.least, rule.most, size, fin=bool(flags & FIN), pushed=bool(flags & PSH))
    history.open()
    link.timers.begin(now)
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
    elif sent.offer.has_cookie:
        link.note("refused")
    elif sent.size:
        link.note("plain-data")
