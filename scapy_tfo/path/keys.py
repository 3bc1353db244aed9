"""Infers from a run's connections whether servers that share an address agree on their keys."""

from __future__ import annotations

from scapy_tfo.path.account import Account
from scapy_tfo.path.evidence import Evidence, Finding, Keys, Verdict
from scapy_tfo.path.observation import Probe
from scapy_tfo.runner.shared_keys import Holders, Step

DIFFERENT, OUT_OF_STEP, IN_STEP = "different-keys", "keys-out-of-step", "keys-in-step"
SEVERAL, FRESH = "several-servers", "fresh-cookies"


_NAMES = {
    Step.DIFFERENT: DIFFERENT,
    Step.OUT_OF_STEP: OUT_OF_STEP,
    Step.FORGOTTEN: OUT_OF_STEP,
    Step.IN_STEP: IN_STEP,
    Step.FRESH: FRESH,
}
_HARMLESS = (Step.IN_STEP, Step.FRESH)


def holders(accounts: list[Account]) -> Holders:
    """What the connections show of the keys."""
    found = Holders()
    for each in accounts:
        fresh = each.prompt.cookie if each.prompt is not None else None
        if each.trial.probe is Probe.REQUEST and fresh:
            found.grants(fresh)
        elif each.trial.probe is Probe.FAST_OPEN and each.prompt is not None:
            found.answers(each.trial.cookie, fresh or b"", accepted=each.accepted)
    return found


def count(evidence: Evidence) -> Keys | None:
    """The figures; None where no cookie came."""
    seen = holders(evidence.everywhere)
    if not seen.granted:
        return None
    return Keys(seen.number, seen.asked, seen.good, seen.tried)


def find(evidence: Evidence) -> list[Finding]:
    """What is to be said of the servers."""
    found = []
    elsewhere = sum(each.elsewhere for each in evidence.everywhere)
    if elsewhere:
        says = (
            f"{elsewhere} of {len(evidence.everywhere)} connections were answered by another "
            "host than the agent's"
        )
        found.append(Finding(SEVERAL, Verdict.BALANCED, says, harm=False))
    seen = holders(evidence.everywhere)
    step = seen.step
    if step is not Step.ONE:
        verdict = Verdict.TRANSPARENT if step is Step.FRESH else Verdict.BALANCED
        found.append(Finding(_NAMES[step], verdict, seen.says, harm=step not in _HARMLESS))
    return found
