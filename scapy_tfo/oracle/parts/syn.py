"""The answers allowed to a SYN at a listener, with the clause for each mistake.

Sources: RFC 7413 section 4.2.2 and RFC 9293 section 3.10.7.2. If the standard leaves a choice,
every legal answer is allowed.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.parts.handshake import SynRule
from scapy_tfo.oracle.parts.pending import Room, Vacancy
from scapy_tfo.oracle.parts.profile import ANY, REQUEST, WHOLE, Profile
from scapy_tfo.program.cookies import Client, Jar
from scapy_tfo.program.options import Offer
from scapy_tfo.program.program import Cookie, Option
from scapy_tfo.segment import FIN, PSH, SYN

_NO_FORMS: frozenset[int] = frozenset()
SIGNED = frozenset((19, 29))
"""TCP MD5 (RFC 2385) and TCP-AO (RFC 5925): without a key a segment may be dropped."""
_TTCP = frozenset((11, 12, 13))
_OTHERS = frozenset(("nop", "ts", "ws", "sackok"))


def syn_rule(
    flags: int,
    offer: Offer,
    size: int,
    port: str,
    client: Client,
    jar: Jar,
    profile: Profile,
    options: tuple[Option, ...] = (),
    *,
    wraps: bool = False,
) -> SynRule:
    """What the standard allows in answer to a SYN without ACK and RST at a listening port.

    options: as the program has them, for the clause only. wraps: its numbers cross zero.
    """
    rule = _by_cookie(flags, offer, size, port, client, jar, profile, options, wraps)
    return rule if port == "plain" else _without_cookie(rule, profile, offer, size)


def _by_cookie(
    flags: int,
    offer: Offer,
    size: int,
    port: str,
    client: Client,
    jar: Jar,
    profile: Profile,
    options: tuple[Option, ...],
    wraps: bool,
) -> SynRule:
    found = offer.fast_open
    held = size if profile.holds_data else 0
    owed = not (flags & FIN or offer.unsound or SIGNED & set(offer.strange))
    if port == "plain" or not profile.fast_open:
        off = "ACC-1" if found else "ACC-4"
        if port != "plain" and found:
            off = "SRV-9"
        return SynRule(owed, 0, held, False, _NO_FORMS, False, off, off, off, off, off)
    valid = [each for each in found if isinstance(each, opt.FastOpen)]
    broken = [each for each in found if isinstance(each, opt.Broken)]
    known = [each for each in valid if each.form in profile.forms]
    forms = frozenset(int(each.form) for each in known)
    cookies = [each for each in known if each.cookie]
    good = [each for each in cookies if jar.is_good(client, each.cookie)]
    clause = _clause(flags, offer, valid, broken, options, wraps)
    if good:
        sure = len(found) == 1 and owed and not offer.unsound and port != "small"
        least = _taken_of(size, profile) if sure and not profile.cookies_once else 0
        rule = _good_rule(owed, least, size, forms, clause)
        return rule._replace(single=len(found) == 1)
    if cookies:
        taken = clause if clause and clause != "OPT-5" else _spoilt(options)
        if clause == "OPT-6a":
            taken = "SRV-10" if _spoilt(options) == "SRV-10" else "ACC-3"
        silent = clause or ("OPT-1" if _odd_size(cookies) else "ACC-3")
        return SynRule(owed, 0, 0, False, forms, False, silent, taken, "ACC-3", "SRV-5", "SRV-5")
    if known:
        granting = len(found) == 1 and owed and port != "small" and profile.grants_each
        return SynRule(
            owed,
            0,
            held,
            False,
            forms,
            granting,
            clause or "SRV-9",
            clause if len(found) > 1 else "ACC-4",
            "ACC-4",
            "OPT-12",
            clause or "SRV-9",
        )
    taken = clause or "ACC-4"
    return SynRule(owed, 0, held, False, forms, False, taken, taken, "ACC-4", taken, "SRV-9")


def _good_rule(owed: bool, least: int, size: int, forms: frozenset[int], clause: str) -> SynRule:
    """For a SYN with a good cookie. clause: of what is special about it, if anything is."""
    wrong = clause or ("ACC-2" if size else "ACC-5")
    return SynRule(owed, least, size, True, forms, False, wrong, "OPT-8", wrong, "OPT-12", "SRV-5")


def _without_cookie(rule: SynRule, profile: Profile, offer: Offer, size: int) -> SynRule:
    """The rule at a target that takes text without a cookie (RFC 7413 section 7.3)."""
    if rule.early or not profile.opens_without:
        return rule
    asks = any(isinstance(each, opt.FastOpen) and not each.cookie for each in offer.fast_open)
    if ANY in profile.opens_without or (asks and REQUEST in profile.opens_without):
        # Text beside a request is then a fast open with an empty cookie.
        return rule._replace(most=size, early=True, granting=rule.granting and not size)
    return rule


def over_the_limit(rule: SynRule, room: Room, size: int, now: float, profile: Profile) -> SynRule:
    """The rule at a listener whose room for pending fast opens may be taken up."""
    vacancy = room.vacancy(now)
    silent = "LIM-1" if rule.early else "LIM-4"
    if vacancy is Vacancy.UNSURE:
        return rule._replace(silent=silent) if room.is_crowded(now) else rule
    if vacancy is Vacancy.FULL:
        asked = rule.granting or bool(rule.forms)
        taken = room.taken_clause() if rule.early else "LIM-1" if asked else rule.taken
        return rule._replace(
            least=0,
            most=0 if rule.early else rule.most,
            early=False,
            granting=False,
            silent=silent,
            taken=taken,
            refused="LIM-1",
        )
    if not rule.early:
        return rule
    clause = room.refused_clause(now)
    sure = rule.owed and rule.single and not profile.cookies_once
    least = _taken_of(size, profile) if sure else 0
    return rule._replace(least=least, refused=clause, silent=clause)


def _taken_of(size: int, profile: Profile) -> int:
    """Bytes of a good SYN's text that are taken for sure."""
    return min(size, profile.syn_text) if size <= WHOLE else 0


def _odd_size(cookies: list[opt.FastOpen]) -> bool:
    return any(len(each.cookie) != 8 for each in cookies)


def _clause(
    flags: int,
    offer: Offer,
    valid: list[opt.FastOpen],
    broken: list[opt.Broken],
    options: tuple[Option, ...],
    wraps: bool,
) -> str:
    """The requirement that what is special about a SYN belongs to, or "" for a plain one."""
    if flags & FIN:
        return "ACC-12"
    if broken:
        return "OPT-7" if any(each.rule == "OPT-7" for each in broken) else "OPT-3"
    if offer.unsound:
        return "OPT-7"
    if len(valid) > 1:
        both = len({each.form for each in valid}) > 1 and all(not each.cookie for each in valid)
        return "OPT-12" if both else "OPT-8"
    if offer.ended:
        return "OPT-10"
    if offer.strange:
        return _strange(offer, options)
    if valid and valid[0].form != opt.TFO:
        return "OPT-6a"
    if wraps:
        return "ACC-11"
    if flags & ~(SYN | PSH | FIN):
        return "ACC-10"
    if not valid:
        return ""
    first = len(options) > 1 and options[0].name == "fo"
    return "OPT-5" if first or any(each.name in _OTHERS for each in options) else ""


def _strange(offer: Offer, options: tuple[Option, ...]) -> str:
    """Of options of other kinds: T/TCP, experiments of others, or simply unknown."""
    if _TTCP & set(offer.strange):
        return "REL-1"
    for each in options:
        if each.name == "raw" and each.kind in (opt.EXPERIMENT_1, opt.EXPERIMENT_2):
            tcpct = each.kind == opt.EXPERIMENT_1 and each.data[:2] not in (b"\xf9\x89",)
            # A pair of cookies of TCPCT: ours stands in for the second half of one.
            size = len(each.data) + (8 if each.cookie is not None else 0)
            return "REL-2" if tcpct and size in (0, 8, 10) else "OPT-13"
    return "OPT-7"


def _spoilt(options: tuple[Option, ...]) -> str:
    """The requirement that a cookie of this making must be refused by."""
    made = [each.cookie for each in options if each.cookie is not None]
    cookie: Cookie | None = made[-1] if made else None
    if cookie is None:
        return "ACC-3"
    if any(each.cookie is cookie and each.data for each in options):
        return "SRV-10"
    if cookie.of == "other":
        return "SRV-1"
    names = {name for name, _ in cookie.edits}
    if names & {"cut", "tail", "pad", "lead", "repeat"}:
        return "SRV-10"
    if names or cookie.of != "own":
        return "SRV-2"
    return "ACC-3"
