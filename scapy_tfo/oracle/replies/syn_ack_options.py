"""Judges the options of a SYN-ACK: a cookie that may come, and others that must not suffer."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.handshake import SynRule
from scapy_tfo.oracle.parts.profile import Usual
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, Table, rule
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.program.options import Offer

_TELLING = 4
"""Equal bytes of two cookies that chance does not make."""

_WHOLE_LIST = 30
"""Bytes of options; where a cookie needs more room, others may be left out."""


@rule("grant", source="RFC 7413 section 4.1.2", requirement="SRV-5", group="unasked")
def grant(link: Connection, came: Came) -> Finding:
    """A cookie comes where one is due or may come, as it was asked for, and is the client's own."""
    syn, found = link.handshake.rule, came.offer.fast_open
    assert syn is not None
    wrong: list[Breach] = []
    if len(found) > 1:
        wrong.append(Breach("one Fast Open option", f"{len(found)}", "OPT-12"))
    for each in found:
        if isinstance(each, opt.Broken):
            size_rule = "OPT-1" if each.rule == "OPT-7" else each.rule
            wrong.append(Breach("a cookie of legal size", each.reason, size_rule))
        elif int(each.form) not in syn.forms:
            wrong.append(_another_form(link, syn, int(each.form)))
        elif each.cookie:
            wrong += _compared(link, each.cookie)
        else:
            wrong.append(Breach("a cookie in the option", "none", "SRV-9"))
    if syn.granting and not found:
        wrong.append(Breach("a cookie, as granted before", "no Fast Open option", syn.ungranted))
    return tuple(wrong) if wrong else HELD


def take_grant(link: Connection, came: Came) -> None:
    """The cookies of a first SYN-ACK are good from now on, whatever they look like."""
    syn = link.handshake.rule
    assert syn is not None
    for each in came.offer.fast_open:
        if isinstance(each, opt.FastOpen) and each.cookie and int(each.form) in syn.forms:
            link.history.grant(each.cookie)
            link.jar.grant(link.client, each.cookie, came.now)


def _another_form(link: Connection, syn: SynRule, form: int) -> Breach:
    """An option of a kind that was not asked for."""
    valid = [each for each in link.handshake.offer.fast_open if isinstance(each, opt.FastOpen)]
    if not syn.forms or not valid:
        return Breach("no Fast Open option", f"one of kind {form}", syn.option)
    clause = "OPT-6" if valid[-1].form == opt.TFO else "OPT-6a"
    return Breach(f"kind {int(valid[-1].form)}", f"kind {form}", clause)


def _compared(link: Connection, cookie: bytes) -> list[Breach]:
    """What a cookie gives away of the next client's, or of its own (RFC 7413 section 4.1.2)."""
    family, client = link.client
    other = link.jar.current.get((family, 1 - client))
    rule = link.handshake.rule
    if cookie == other:
        fresh = rule is not None and not rule.granting and bool(rule.forms)
        clause = "SRV-5" if fresh else "SRV-1"
        return [Breach("a cookie of the client's own", "the same as another client's", clause)]
    if other is None or len(other) != len(cookie):
        return []
    same = sum(a == b for a, b in zip(cookie, other, strict=True))
    if 2 * same >= len(cookie) and same >= _TELLING:
        return [Breach("a cookie that tells nothing of others", f"{same} bytes in common", "SRV-2")]
    if _is_of_the_address(link, cookie, other):
        return [
            Breach(
                "a cookie that the address does not tell", "one made of the address alone", "SRV-2"
            )
        ]
    return []


def _is_of_the_address(link: Connection, cookie: bytes, other: bytes) -> bool:
    addresses = link.jar.addresses
    ours = addresses.get(link.client)
    theirs = addresses.get((link.client[0], 1 - link.client[1]))
    if ours is None or theirs is None:
        return False
    between = bytes(a ^ b for a, b in zip(cookie, other, strict=True))
    apart = bytes(a ^ b for a, b in zip(ours, theirs, strict=True))
    # Addresses repeat where the cookie is longer.
    return cookie in ours * 4 or between in apart * 4 or between.endswith(apart[-len(between) :])


def _scale(usual: Usual, ours: Offer, offer: Offer) -> int | None:
    """The window scale to expect; one of zero need not be answered (RFC 7323 section 2.2)."""
    if ours.scale is None or (ours.scale == 0 and offer.scale is None):
        return None
    return usual.scale


@rule("syn-ack-options", source="RFC 9293 section 3.2", requirement="OPT-9")
def syn_ack_options(link: Connection, came: Came) -> Finding:
    """The other options answer those of the SYN (RFC 7323 sections 2.2 and 3.2, RFC 2018 section
    2), are the usual ones, and stay as in the first SYN-ACK."""
    if not came.first and (came.reply.seq, came.number) != (
        link.handshake.iss,
        link.outbound.base + 1 + (link.handshake.taken or 0),
    ):
        return None
    wrong: list[Breach] = []
    if came.offer.unsound:
        wrong.append(Breach("options that can be read", came.reply.options.hex()))
    if not link.handshake.other_offers:
        # Else a SYN that offered something else may be the one that is answered.
        wrong += _unasked(link, came.offer)
        wrong += _unusual(link, came)
    return tuple(wrong) if wrong else HELD


def _unasked(link: Connection, offer: Offer) -> list[Breach]:
    """Options that the SYN had not, and a TSecr that it cannot have."""
    ours = link.handshake.offer
    wrong: list[Breach] = []
    if offer.times is not None and ours.times is None:
        wrong.append(Breach("no timestamps, which the SYN had not", "timestamps"))
    if offer.scale is not None and ours.scale is None:
        wrong.append(Breach("no window scale, which the SYN had not", "a window scale"))
    if offer.sack and not ours.sack:
        wrong.append(Breach("no SACK-permitted, which the SYN had not", "SACK-permitted"))
    if offer.times is not None and offer.times[1] not in link.times.sent:
        clause = "OPT-9" if ours.fast_open else "AFT-6"
        wrong.append(Breach("TSecr of a SYN that was sent", f"TSecr {offer.times[1]}", clause))
    return wrong


def _unusual(link: Connection, came: Came) -> list[Breach]:
    """Options other than without Fast Open, or than those of the first SYN-ACK."""
    ours, offer, usual = link.handshake.offer, came.offer, link.profile.options
    if usual is None or ours.unsound or ours.ended or ours.strange:
        return []
    if len(came.reply.options) > _WHOLE_LIST:
        return []
    mss = usual.mss_beside(link.flow.family, offer.mss, link.profile.mtu)
    if mss and any("icmp" in each.evidence.features for each in link.around):
        # A packet-too-big of ours may have lowered it (RFC 1191 section 3.1).
        mss = min(mss, offer.mss or mss)
    had = (offer.mss, offer.scale, offer.sack, offer.times is not None)
    should = (
        mss,
        _scale(usual, ours, offer),
        usual.sack and ours.sack,
        # In a SYN-ACK they are a MAY (RFC 7323 section 3.2), and the first one decides.
        usual.times and ours.times is not None and (not came.first or offer.times is not None),
    )
    if not came.first and had[1:] != should[1:]:
        return [Breach(f"options as in the first SYN-ACK: {should}", f"{had}")]
    if came.first and had != should:
        return [Breach(f"MSS, scale, SACK, timestamps as without Fast Open: {should}", f"{had}")]
    return []


OPTIONS = Table(grant, syn_ack_options)
"""On those of a first SYN-ACK."""
