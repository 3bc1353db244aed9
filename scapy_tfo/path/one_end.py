"""Draws the conclusions that the near end alone allows, and names those that it does not.

The server is not ours: if it is not seen to do something, perhaps it never does.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.path import keys, proof, sizes
from scapy_tfo.path.account import SLACK, Account
from scapy_tfo.path.evidence import Evidence, Finding, Verdict
from scapy_tfo.path.observation import FAST_OPENS, WITH_DATA, Probe

NO_COOKIE, NO_DATA, PART, REFUSED = "no-cookie", "no-data-taken", "part-taken", "cookie-refused"
UNANSWERED_OPTION, UNANSWERED_DATA = "option-unanswered", "data-unanswered"
UNANSWERED_MUCH, SLOW = "much-data-unanswered", "data-answered-late"
BLOCKED_FLOW, BLOCKED_SERVER = "flow-silent-after-syn-data", "server-silent-after-syn-data"
RESET, ICMP = "data-answered-by-rst", "data-answered-by-icmp"

_WITH_AGENT = (
    "to know which: run 'scapy-tfo path serve' on the server's host and 'scapy-tfo path HOST' here"
)
_UNSEEN = (
    "not to be seen from one end: whether SYNs arrive twice, split or with other data, and "
    "whether data that is acknowledged was delivered"
)


def find(evidence: Evidence) -> tuple[list[Finding], list[str]]:
    """What is the matter, and what cannot be told."""
    found = [*_of_options(evidence), *sizes.find(evidence), *_of_data(evidence)]
    if not found:
        found += keys.find(evidence)
    found += proof.find(evidence, told=any(each.harm for each in found))
    notes = [_UNSEEN]
    broken = len(evidence.broken)
    if broken and not any(each.harm for each in found):
        notes.append(f"{broken} of {len(evidence.everywhere)} connections were not whole")
    if any(each.harm and each.verdict is not Verdict.BALANCED for each in found):
        notes.append(_WITH_AGENT)
    if any(each.name == keys.DIFFERENT for each in found):
        notes.append(
            "an address translator that gives each connection another address looks the same; "
            + _WITH_AGENT
        )
    return found, notes


def verdict(evidence: Evidence, findings: Sequence[Finding]) -> Verdict:
    """The first harm's that can be judged; it cannot be where a connection was not whole and
    nothing tells why."""
    harmful = [each.verdict for each in findings if each.harm]
    if not harmful:
        return Verdict.UNKNOWN if evidence.broken else Verdict.TRANSPARENT
    return next((each for each in harmful if each is not Verdict.UNKNOWN), Verdict.UNKNOWN)


def _is_silent(each: Account) -> bool:
    return each.prompt is None


def _of_options(evidence: Evidence) -> list[Finding]:
    every = evidence.every
    if every(_is_silent, Probe.REQUEST):
        says = (
            "a cookie request is not answered, the plain SYN behind it is: the path drops SYNs "
            "with the option or SYN-ACKs with a cookie, or the server does not answer such SYNs"
        )
        return [Finding(UNANSWERED_OPTION, Verdict.DROPS, says)]
    if every(lambda each: each.prompt is None or not each.prompt.cookie, Probe.REQUEST):
        other = any(each.prompt and each.prompt.cookie for each in evidence.of(Probe.REQUEST_254))
        says = (
            "no cookie comes for a request: the option is taken out on the way there or back, or "
            "the server does not do fast open"
        )
        if other:
            says = "no cookie comes for kind 34, but one does for kind 254"
        return [Finding(NO_COOKIE, Verdict.UNKNOWN, says)]
    return []


def _of_data(evidence: Evidence) -> list[Finding]:
    every = evidence.every
    if evidence.each_kind(lambda each: bool(each.forged), *FAST_OPENS):
        if any(isinstance(one, IcmpError) for each in evidence.accounts for one in each.forged):
            says = "SYNs with a cookie and data are answered by ICMP"
            return [Finding(ICMP, Verdict.DROPS, says)]
        says = "SYNs with a cookie and data are answered by RST: by the server, or in its name"
        return [Finding(RESET, Verdict.TAMPERS, says)]
    if evidence.each_kind(lambda each: not each.syn_acks and each.retries > 0, *FAST_OPENS):
        if every(lambda each: not each.syn_acks, Probe.AFTERWARDS):
            says = "after a SYN with data the server answers nothing of ours any more"
            return [Finding(BLOCKED_SERVER, Verdict.BLOCKS, says)]
        says = "after a SYN with data not even a plain SYN of its connection is answered"
        return [Finding(BLOCKED_FLOW, Verdict.BLOCKS, says)]
    if every(_is_silent, Probe.COOKIE) or not evidence.of(*FAST_OPENS):
        return []
    if evidence.each_kind(_is_silent, *FAST_OPENS):
        alone = "with the option or without" if every(_is_silent, Probe.DATA) else "with the option"
        says = f"SYNs with data, {alone}, are not answered; the plain ones behind them are"
        return [Finding(UNANSWERED_DATA, Verdict.DROPS, says)]
    if every(_is_silent, Probe.FAST_OPEN_FULL):
        limit = sizes.data_limit(evidence)
        little = "one with little is"
        if limit is not None:
            little = f"one with {limit.passes} bytes is, one with {limit.fails} is not"
        says = f"a SYN with as much data as fits is not answered, {little}"
        return [Finding(UNANSWERED_MUCH, Verdict.DROPS, says)]
    return _of_answers(evidence)


def _of_answers(evidence: Evidence) -> list[Finding]:
    every = evidence.every
    if every(lambda each: not each.accepted, *FAST_OPENS):
        fresh = {each.prompt.cookie for each in evidence.of(*FAST_OPENS) if each.prompt}
        sent = {each.trial.cookie for each in evidence.of(*FAST_OPENS)}
        if not any(fresh):
            says = (
                "SYN data is never acknowledged, and no cookie comes: the option or the data is "
                "taken out on the way, or the server refuses"
            )
            return [Finding(NO_DATA, Verdict.UNKNOWN, says)]
        if fresh <= {*sent, None}:
            says = "cookies that were just granted are refused: they are changed on the way, or "
            return [Finding(REFUSED, Verdict.UNKNOWN, says + "the server's limit is reached")]
        return []
    if every(_is_partly_taken, *FAST_OPENS):
        says = "only a part of SYN data is acknowledged: it is cut on the way, or by the server"
        return [Finding(PART, Verdict.UNKNOWN, says)]
    plain = min((each.round_trip or 0.0 for each in evidence.of(Probe.PLAIN)), default=0.0)
    if every(lambda each: (each.round_trip or 0.0) > plain + SLACK, *WITH_DATA):
        says = "SYNs with data are answered later than others"
        return [Finding(SLOW, Verdict.TAMPERS, says)]
    return []


def _is_partly_taken(each: Account) -> bool:
    if each.prompt is None:
        return False
    taken = seq.distance(each.syn.seq, each.prompt.ack) - 1
    return 0 < taken < len(each.syn.payload)
