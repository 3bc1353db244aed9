"""Concludes from what both ends saw what the path does, and which box does such a thing."""

from __future__ import annotations

from scapy_tfo.icmp import IcmpError
from scapy_tfo.path import conservation, keys, one_end, sizes
from scapy_tfo.path.account import SLACK, Account
from scapy_tfo.path.evidence import Evidence, Finding, Keys, Result, Test, Verdict
from scapy_tfo.path.observation import FAST_OPENS, SEARCHES, WITH_DATA, Observations, Probe
from scapy_tfo.segment import Segment

_REPLAYED = (
    "a SYN that came when its connection was over was taken once more: the application read its "
    "data twice, which RFC 7413 section 2.1 leaves to the application"
)


def judge(observations: Observations) -> Result:
    """What the path does, by what was seen of it."""
    evidence = Evidence(observations)
    costs = evidence.costs()
    if not any(each.syn_acks for each in evidence.everywhere if each.trial.probe is Probe.PLAIN):
        why = "not even a plain connection opens"
        return Result(verdict=Verdict.UNKNOWN, findings=(), costs=costs, notes=(why,))
    counted = keys.count(evidence)
    limit = sizes.data_limit(evidence)
    syn_data = None if limit is None else (limit.passes, limit.fails)
    if not evidence.has_far:
        findings, notes = one_end.find(evidence)
        verdict = one_end.verdict(evidence, findings)
        return Result(
            verdict=verdict,
            findings=findings,
            costs=costs,
            notes=notes,
            has_far=False,
            keys=counted,
            syn_data=syn_data,
            toll=None if verdict is Verdict.TRANSPARENT else evidence.toll(),
        )
    return _with_both_ends(evidence, counted, syn_data)


def _with_both_ends(
    evidence: Evidence, counted: Keys | None, syn_data: tuple[int, int] | None
) -> Result:
    addresses = _of_addresses(evidence)
    # One server grants another cookie to each address, and a cookie that the path changes is no
    # server's: that tells nothing of keys.
    tells_keys = not any(each.harm for each in addresses) and not _changes_option(evidence)
    named = [
        *addresses,
        *(keys.find(evidence) if tells_keys else []),
        *_of_options(evidence),
        *sizes.find(evidence),
        *_of_data(evidence),
        *_of_copies(evidence),
    ]
    findings, left = conservation.complete(evidence, named)
    harmful = [each for each in findings if each.harm]
    notes = _notes(evidence)
    verdict = harmful[0].verdict if harmful else Verdict.TRANSPARENT
    if not harmful and evidence.broken:
        verdict = Verdict.UNKNOWN
        notes.append(conservation.doubt(evidence, left))
    return Result(
        verdict=verdict,
        findings=findings,
        costs=evidence.costs(),
        notes=notes,
        keys=counted if tells_keys else None,
        syn_data=syn_data,
        toll=None if verdict is Verdict.TRANSPARENT else evidence.toll(),
    )


def _changes_option(evidence: Evidence) -> bool:
    return any(
        isinstance(each.packet, Segment)
        and each.came is not None
        and each.packet.fast_open != each.came.fast_open
        for each in evidence.fates
    )


def _notes(evidence: Evidence) -> list[str]:
    notes = []
    if any(each.replayed for each in evidence.accounts):
        notes.append(_REPLAYED)
    for probe in (each for each in Probe if each not in SEARCHES):
        found = evidence.of(probe)
        lost = sum(each.lost for each in found)
        if 0 < lost < len(found):
            notes.append(
                f"{probe.value}: {lost} of {len(found)} SYNs were lost, as happens by chance"
            )
    return notes


def _of_addresses(evidence: Evidence) -> list[Finding]:
    seen = {each.peer[0] for each in evidence.accounts if each.peer is not None}
    own = {str(each.trial.source[0]) for each in evidence.accounts}
    if len(seen) > 1:
        return [
            Finding(
                "changes-address",
                Verdict.TAMPERS,
                f"connections come from {len(seen)} different addresses, so that no cookie is good "
                "for the next one",
            )
        ]
    if seen and seen != own:
        says = f"an address translator: the far end sees {seen.pop()}; cookies stay good"
        return [Finding("shares-address", Verdict.TRANSPARENT, says, harm=False)]
    return []


def _of_options(evidence: Evidence) -> list[Finding]:
    every = evidence.every
    if every(_is_lost, Probe.REQUEST) and every(_is_lost, Probe.COOKIE):
        says = "SYNs with the option never arrive, with data or without"
        says += _other_kind(evidence, _is_lost)
        return [Finding("drops-syn-with-option", Verdict.DROPS, says)]
    found = []
    out = every(_is_option_gone, Probe.REQUEST)
    home = every(lambda each: each.answer_stripped, Probe.MIRROR) or every(
        lambda each: each.answer_stripped, Probe.REQUEST
    )
    if out and home:
        says = "the option is taken out of SYNs, and out of SYN-ACKs"
        found.append(Finding("strips-option", Verdict.STRIPS, says))
    elif out:
        says = "the option is taken out of SYNs; that of SYN-ACKs passes"
        says += _other_kind(evidence, _is_option_gone)
        found.append(Finding("strips-option-from-syn", Verdict.STRIPS, says))
    elif home:
        says = "cookies are taken out of SYN-ACKs; the option of SYNs passes"
        found.append(Finding("strips-option-from-syn-ack", Verdict.STRIPS, says))
    if every(lambda each: each.cookie_lost, Probe.REQUEST):
        says = "SYN-ACKs with a cookie never arrive; those without do"
        found.append(Finding("drops-syn-ack-with-cookie", Verdict.DROPS, says))
    if every(lambda each: each.option_changed, *FAST_OPENS):
        says = "the cookie that arrives is not the one that was sent"
        found.append(Finding("rewrites-cookie", Verdict.TAMPERS, says))
    return found


def _other_kind(evidence: Evidence, test: Test) -> str:
    """What to add where kind 254 fares otherwise than kind 34."""
    return "" if evidence.every(test, Probe.REQUEST_254) else " (kind 34 only: kind 254 passes)"


def _is_option_gone(each: Account) -> bool | None:
    return each.option_gone


def _is_lost(each: Account) -> bool:
    return each.lost


def _of_data(evidence: Evidence) -> list[Finding]:
    every = evidence.every
    if evidence.each_kind(lambda each: each.cut_off, *FAST_OPENS):
        if every(lambda each: not each.syn_acks, Probe.AFTERWARDS):
            says = "after a SYN with data nothing reaches that server any more, for a while"
            return [Finding("blocks-server-after-syn-data", Verdict.BLOCKS, says)]
        says = "after a SYN with data nothing of its connection passes; new connections do"
        return [Finding("blocks-flow-after-syn-data", Verdict.BLOCKS, says)]
    forged = _of_forgeries(evidence)
    if forged:
        return forged
    if evidence.each_kind(_is_lost, *WITH_DATA):
        says = "SYNs with data never arrive, with the option or without"
        return [Finding("drops-syn-with-data", Verdict.DROPS, says)]
    if every(_is_lost, Probe.FAST_OPEN_FULL) and not every(_is_lost, Probe.FAST_OPEN):
        says = f"a SYN with much data never arrives{_limit(evidence)}"
        return [Finding("drops-syn-with-much-data", Verdict.DROPS, says)]
    if evidence.each_kind(_is_lost, *FAST_OPENS) and not every(_is_lost, Probe.COOKIE):
        says = "SYNs with both the option and data never arrive; either alone does"
        return [Finding("drops-syn-with-option-and-data", Verdict.DROPS, says)]
    if evidence.each_kind(lambda each: each.data_gone, *WITH_DATA):
        if every(lambda each: each.acknowledged_more, *WITH_DATA):
            says = "the data of SYNs is acknowledged, but the server never gets it"
            return [Finding("acknowledges-lost-data", Verdict.TAMPERS, says)]
        says = "the data is taken out of SYNs; the option passes"
        return [Finding("strips-syn-data", Verdict.STRIPS, says)]
    if evidence.each_kind(lambda each: each.data_cut, *WITH_DATA):
        if every(lambda each: bool(each.behind) if each.arrived else None, *WITH_DATA):
            says = "a part of a SYN's data comes in a segment of its own, which no server takes"
            return [Finding("splits-syn-data", Verdict.TAMPERS, says)]
        says = "the end of a SYN's data never arrives"
        return [Finding("cuts-syn-data", Verdict.TAMPERS, says)]
    if evidence.each_kind(lambda each: each.data_changed, *WITH_DATA):
        says = "the data of SYNs is not what was sent, and its checksum is right"
        return [Finding("rewrites-syn-data", Verdict.TAMPERS, says)]
    return []


def _of_forgeries(evidence: Evidence) -> list[Finding]:
    if evidence.each_kind(lambda each: _has_rst(each), *FAST_OPENS):
        says = "SYNs with data are answered by RST, in the server's name"
        return [Finding("resets-syn-with-data", Verdict.TAMPERS, says)]
    if evidence.every(lambda each: _too_big(each) > 0, Probe.FAST_OPEN_FULL):
        mtu = min(_too_big(each) for each in evidence.of(Probe.FAST_OPEN_FULL))
        says = f"a full SYN is answered by ICMP: packet too big, the MTU is {mtu}"
        says += _limit(evidence)
        return [Finding("finds-syn-too-big", Verdict.DROPS, says)]
    if evidence.each_kind(lambda each: bool(each.forged), *FAST_OPENS):
        says = "SYNs with data are answered by ICMP: unreachable"
        return [Finding("prohibits-syn-with-data", Verdict.DROPS, says)]
    return []


def _has_rst(each: Account) -> bool:
    return any(not isinstance(one, IcmpError) for one in each.forged)


def _too_big(each: Account) -> int:
    """The MTU that was told, in bytes; 0 where none was."""
    return max((one.mtu for one in each.forged if isinstance(one, IcmpError)), default=0)


def _of_copies(evidence: Evidence) -> list[Finding]:
    every = evidence.every
    if evidence.each_kind(lambda each: each.doubled, *WITH_DATA):
        says = "SYNs arrive twice"
        return [Finding("duplicates-syn", Verdict.TAMPERS, says)]
    others = (each.late for each in evidence.of(Probe.PLAIN, Probe.REQUEST, Probe.COOKIE))
    # Where the others come now early, now late, it takes more to be remarkable.
    limit = max(SLACK, 1.5 * max(others, default=0.0))
    if every(lambda each: None if each.arrived is None else each.late > limit, *WITH_DATA):
        by = min(each.late for each in evidence.of(*WITH_DATA) if each.arrived is not None)
        says = f"SYNs with data arrive {by:.1f} s later than others"
        return [Finding("delays-syn-with-data", Verdict.TAMPERS, says)]
    return []


def _limit(evidence: Evidence) -> str:
    """How much passes, to be added to a sentence."""
    found = sizes.data_limit(evidence)
    return "" if found is None else f": {found.passes} bytes of data pass, {found.fails} do not"
