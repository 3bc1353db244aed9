"""Servers that share an address: do they share their key, and is a change of it in step?

Every holder of a key shows by the cookie that it grants. A cookie that is refused, or accepted
with another one in the answer, shows what its holder thinks of somebody else's (RFC 7413 section
6.3.4; paper 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.path.account import Account
from scapy_tfo.path.evidence import Evidence, Finding, Keys, Verdict
from scapy_tfo.path.observation import Probe

DIFFERENT, OUT_OF_STEP, IN_STEP = "different-keys", "keys-out-of-step", "keys-in-step"
SEVERAL, FRESH = "several-servers", "fresh-cookies"


@dataclass
class Holders:
    """granted: how often each cookie came for a request. refused: pairs (the holder's own cookie,
    the one that it refused), and how often; renewed: likewise of those it accepted as old.
    tried: fast opens; good: of them accepted."""

    granted: dict[bytes, int] = field(default_factory=dict)
    refused: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    renewed: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    tried: int = 0
    good: int = 0

    @property
    def number(self) -> int:
        """Of the keys that are in use."""
        return len(self.cookies)

    @property
    def cookies(self) -> set[bytes]:
        return {*self.granted, *(own for own, _ in (*self.refused, *self.renewed))}


def holders(accounts: list[Account]) -> Holders:
    """What the connections show of the keys."""
    found = Holders()
    for each in accounts:
        fresh = each.prompt.cookie if each.prompt is not None else None
        if each.trial.probe is Probe.REQUEST and fresh:
            found.granted[fresh] = found.granted.get(fresh, 0) + 1
        elif each.trial.probe is Probe.FAST_OPEN and each.prompt is not None:
            found.tried += 1
            found.good += each.accepted
            pair = (fresh or b"", each.trial.cookie)
            # The same cookie granted anew: another one had arrived.
            if fresh and fresh != each.trial.cookie:
                into = found.renewed if each.accepted else found.refused
                into[pair] = into.get(pair, 0) + 1
    return found


def count(evidence: Evidence) -> Keys | None:
    """The figures; None where no cookie came."""
    seen = holders(evidence.everywhere)
    if not seen.granted:
        return None
    return Keys(seen.number, sum(seen.granted.values()), seen.good, seen.tried)


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
    if seen.number < 2:
        return found
    asked = sum(seen.granted.values())
    of = f"{seen.number} holders of different keys answer ({asked} cookies asked for)"
    good = f"{seen.good} of {seen.tried} fast opens are accepted"
    if len(seen.granted) == 1 and seen.refused and not seen.good:
        says = f"the key changes, and cookies of the old one are refused: {good}"
        found.append(Finding(OUT_OF_STEP, Verdict.BALANCED, says))
    elif len(seen.granted) == asked and seen.good == seen.tried:
        says = f"every request brings another cookie, and all are good: {good}"
        found.append(Finding(FRESH, Verdict.TRANSPARENT, says, harm=False))
    elif not seen.refused:
        says = f"{of}; each takes the others' cookies, as in a rotation that is in step: {good}"
        found.append(Finding(IN_STEP, Verdict.BALANCED, says, harm=False))
    elif seen.renewed:
        says = f"{of}; some take the others' cookies as old ones, some refuse them: a rotation "
        says += f"out of step: {good}"
        found.append(Finding(OUT_OF_STEP, Verdict.BALANCED, says))
    else:
        says = f"{of}, and refuse each other's cookies: {good}"
        found.append(Finding(DIFFERENT, Verdict.BALANCED, says))
    return found
