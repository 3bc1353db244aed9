"""Tells in a script's head what the script proves, which runs in virtual time show."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.remote.run import run_remote
from scapy_tfo.program.program import OF_PORTS, UNFOUNDED, Icmp

EXPECTED = (
    "What is expected here is what the reference answers, so it fails where a stack has the fault:"
    " scapy-tfo pkt run --target TARGET FILE."
)
NOTHING = "It proves nothing"
"""How the sentence begins that says why a script cannot tell the stacks apart."""

_PLACE = re.compile(r"^[^ ]*: ")
_REFERENCE, _SIMULATED = "sim:reference", "sim:"
_MADE_OF_SECRETS = "grant", "SRV-2"
"""Rule and requirement of a cookie that can be guessed."""
_GUESSED = f"{NOTHING}: what is wrong is of what the cookie was made, which packets do not show."
_UNSAID = frozenset((OF_PORTS, *UNFOUNDED))
_WITHOUT_ITS_ERROR = (
    f"{NOTHING}: an ICMP message that quotes no whole segment of TCP cannot be written as a script,"
    " and is left out."
)
_IN_DATA = (
    f"{NOTHING}: the stacks differ in the bytes of their data, and those of a script are zeros."
)
_IN_NOTHING = (
    f"{NOTHING}: the stacks differ in no flag, number, length or kind of option of their packets,"
    " and the rest is left open."
)


def worth(finding: Finding, differs: str) -> str:
    """What the script of a finding proves by what it can say, or why it proves nothing."""
    if any(isinstance(each, Icmp) and each.what in _UNSAID for each in finding.reduced.steps):
        return _WITHOUT_ITS_ERROR
    if (finding.rule, finding.requirement) == _MADE_OF_SECRETS:
        return _GUESSED
    return worth_of(differs)


def worth_of(differs: str) -> str:
    """The same of any script. differs: see `difference`."""
    if differs == "data":
        return _IN_DATA
    return EXPECTED if differs else _IN_NOTHING


def proved(write: Callable[[str], str], said: str, target: str) -> str:
    """A script that was run: it passes at the reference, and fails at the target, where that is
    simulated; or its head says that it does not. write: makes it, with a sentence for its head.
    said: that sentence, as far as one knows without a run."""
    text = write(said)
    doubt = _doubt(text, target) if said == EXPECTED else ""
    return write(f"{NOTHING}{doubt}") if doubt else text


def _doubt(text: str, target: str) -> str:
    """Why it proves nothing; "" where it does."""
    version = "ipv6" if "--ip_version=ipv6" in text else "ipv4"
    task = Task("it", text, Path(), Settings(version=version))
    [(_, answer)] = run_remote([task], _REFERENCE)
    if not isinstance(answer, Outcome):
        return f" by --target: {_PLACE.sub('', str(answer))}."
    if answer.failures:
        return ": it fails at the reference, too."
    if not target.startswith(_SIMULATED):
        return ""
    [(_, answer)] = run_remote([task], target)
    passes = isinstance(answer, Outcome) and not answer.failures
    return f": it passes at {target}, too." if passes else ""
