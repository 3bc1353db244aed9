"""Judges the options of a SYN-ACK: a cookie that may come, and others that must not suffer."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo import option as opt
from scapy_tfo.oracle.profile import Usual
from scapy_tfo.oracle.state import Knowledge
from scapy_tfo.packet import Reply
from scapy_tfo.program.options import Offer

_MASK = 0xFFFFFFFF

_TELLING = 4
"""Equal bytes of two cookies that chance does not make."""

_WHOLE_LIST = 30
"""Bytes of options; where a cookie needs more room, others may be left out."""


def take_grant(link: Knowledge, offer: Offer, now: float, packet: int) -> None:
    """The Fast Open option of a first SYN-ACK, that came at `now`, in seconds."""
    rule = link.rule
    assert rule is not None
    found = offer.fast_open

    def wrong(requirement: str, expected: str, actual: str) -> None:
        link.blame(
            "grant",
            requirement,
            expected,
            actual,
            group="unasked",
            reply="syn-ack",
            packet=packet,
        )

    if len(found) > 1:
        wrong("OPT-12", "one Fast Open option", f"{len(found)}")
    for each in found:
        if isinstance(each, opt.Broken):
            size_rule = "OPT-1" if each.rule == "OPT-7" else each.rule
            wrong(size_rule, "a cookie of legal size", each.reason)
        elif int(each.form) not in rule.forms:
            asked = link.offer.fast_open
            valid = [one for one in asked if isinstance(one, opt.FastOpen)]
            if not rule.forms or not valid:
                wrong(rule.option, "no Fast Open option", f"one of kind {int(each.form)}")
            else:
                clause = "OPT-6" if valid[-1].form == opt.TFO else "OPT-6a"
                wrong(clause, f"kind {int(valid[-1].form)}", f"kind {int(each.form)}")
        elif each.cookie:
            link.cookie = each.cookie
            _compare(link, each.cookie, wrong)
            # Good from now on, whatever it looks like.
            link.jar.grant(link.client, each.cookie, now)
        else:
            wrong("SRV-9", "a cookie in the option", "none")
    if rule.granting and not found:
        wrong(rule.ungranted, "a cookie, as granted before", "no Fast Open option")


def _compare(link: Knowledge, cookie: bytes, wrong: Callable[[str, str, str], None]) -> None:
    """What a cookie gives away of the next client's, or of its own (RFC 7413 section 4.1.2)."""
    family, client = link.client
    other = link.jar.current.get((family, 1 - client))
    rule = link.rule
    if cookie == other:
        fresh = rule is not None and not rule.granting and bool(rule.forms)
        clause = "SRV-5" if fresh else "SRV-1"
        wrong(clause, "a cookie of the client's own", "the same as another client's")
    elif other is not None and len(other) == len(cookie):
        same = sum(a == b for a, b in zip(cookie, other, strict=True))
        if 2 * same >= len(cookie) and same >= _TELLING:
            wrong("SRV-2", "a cookie that tells nothing of others", f"{same} bytes in common")
        else:
            _compare_by_address(link, cookie, other, wrong)


def _compare_by_address(
    link: Knowledge, cookie: bytes, other: bytes, wrong: Callable[[str, str, str], None]
) -> None:
    addresses = link.jar.addresses
    ours = addresses.get(link.client)
    theirs = addresses.get((link.client[0], 1 - link.client[1]))
    if ours is None or theirs is None:
        return
    between = bytes(a ^ b for a, b in zip(cookie, other, strict=True))
    apart = bytes(a ^ b for a, b in zip(ours, theirs, strict=True))
    # Addresses repeat where the cookie is longer.
    if cookie in ours * 4 or between in apart * 4 or between.endswith(apart[-len(between) :]):
        wrong("SRV-2", "a cookie that the address does not tell", "one made of the address alone")


def _scale(usual: Usual, ours: Offer, offer: Offer) -> int | None:
    """The window scale to expect; one of zero need not be answered (RFC 7323 section 2.2)."""
    if ours.scale is None or (ours.scale == 0 and offer.scale is None):
        return None
    return usual.scale


def check_options(link: Knowledge, reply: Reply, offer: Offer, packet: int, *, first: bool) -> None:
    """The other options of a SYN-ACK (RFC 7323 2.2 and 3.2, RFC 2018 section 2)."""
    ours = link.offer

    def wrong(expected: str, actual: str, requirement: str = "OPT-9") -> None:
        link.blame("syn-ack-options", requirement, expected, actual, reply="syn-ack", packet=packet)

    if offer.unsound:
        wrong("options that can be read", reply.options.hex())
    if link.other_offers:
        # A SYN that offers something else may be the one that is answered.
        return
    if offer.times is not None and ours.times is None:
        wrong("no timestamps, which the SYN had not", "timestamps")
    if offer.scale is not None and ours.scale is None:
        wrong("no window scale, which the SYN had not", "a window scale")
    if offer.sack and not ours.sack:
        wrong("no SACK-permitted, which the SYN had not", "SACK-permitted")
    if offer.times is not None and offer.times[1] not in link.times_sent:
        clause = "OPT-9" if ours.fast_open else "AFT-6"
        wrong("TSecr of a SYN that was sent", f"TSecr {offer.times[1]}", clause)
    usual = link.profile.options
    if usual is None or ours.unsound or ours.ended or ours.strange:
        return
    if len(reply.options) > _WHOLE_LIST:
        return
    mss = usual.mss[link.flow.family]
    if mss and any("icmp" in each.features for each in link.around):
        # A packet-too-big of ours may have lowered it (RFC 1191 section 3.1).
        mss = min(mss, offer.mss or mss)
    had = (offer.mss, offer.scale, offer.sack, offer.times is not None)
    should = (
        mss,
        _scale(usual, ours, offer),
        usual.sack and ours.sack,
        # In a SYN-ACK they are a MAY (RFC 7323 section 3.2), and the first one decides.
        usual.times and ours.times is not None and (not first or offer.times is not None),
    )
    if not first and had[1:] != should[1:]:
        wrong(f"options as in the first SYN-ACK: {should}", f"{had}")
    elif first and had != should:
        wrong(f"MSS, scale, SACK, timestamps as without Fast Open: {should}", f"{had}")
