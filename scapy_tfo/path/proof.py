"""Finds what became of connections that were not whole, from what came back to the near end.

Of a connection that opened, the answers prove how far it got: whether the server acknowledged the
client's data, kept its window open, and sent its own data.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import seq
from scapy_tfo.path.account import Account
from scapy_tfo.path.evidence import Evidence, Finding, Verdict
from scapy_tfo.path.observation import SEARCHES, SYN_DATA, Probe
from scapy_tfo.segment import ACK, Segment

SILENT, RESET, SHUT = "silent-after-handshake", "reset-after-handshake", "window-shut"
UNACKNOWLEDGED, UNANSWERED = "data-unacknowledged", "data-acknowledged-but-unanswered"
CHANGED, UNOPENED = "answer-changed", "unopened"

_SAYS = {
    SILENT: "open, and then nothing more comes",
    RESET: "open, and are then reset",
    SHUT: "open, and the window of the server is 0 in everything that comes",
    UNACKNOWLEDGED: "open, and the client's data is not acknowledged",
    UNANSWERED: "open, and the client's data is acknowledged, but the server's answer never comes "
    "whole",
    CHANGED: "open, and the server's answer is not what the client sent it",
    UNOPENED: "do not open",
}
_VERDICTS = {
    SILENT: Verdict.BLOCKS,
    RESET: Verdict.TAMPERS,
    SHUT: Verdict.TAMPERS,
    UNACKNOWLEDGED: Verdict.DROPS,
    UNANSWERED: Verdict.DROPS,
    CHANGED: Verdict.TAMPERS,
    UNOPENED: Verdict.DROPS,
}


def find(evidence: Evidence, *, told: bool) -> list[Finding]:
    """What kinds of connection came to, of which none was whole.

    told: other findings say why some did not open.
    """
    kinds: dict[str, list[Probe]] = {}
    for probe in (each for each in Probe if each not in SEARCHES):
        those = evidence.of(probe)
        failures = [_failure(each) for each in those if not each.whole]
        if those and len(failures) == len(those):
            kinds.setdefault(max(failures, key=failures.count), []).append(probe)
    if told:
        kinds.pop(UNOPENED, None)
    return [_finding(evidence, failure, probes) for failure, probes in kinds.items()]


def _finding(evidence: Evidence, failure: str, probes: Sequence[Probe]) -> Finding:
    had = {each for each in Probe if each not in SEARCHES and evidence.of(each)}
    which = "connections"
    if set(probes) < had:
        which += _kinds(set(probes), had)
    number = sum(len(evidence.of(each)) for each in probes)
    says = f"{number} of {number} {which} {_SAYS[failure]}"
    # A server that nobody knows may end any connection, and say nothing on it.
    is_servers = not evidence.observations.echoes and Probe.PLAIN in probes
    return Finding(failure, Verdict.UNKNOWN if is_servers else _VERDICTS[failure], says)


def _kinds(broken: set[Probe], had: set[Probe]) -> str:
    if broken <= SYN_DATA:
        return " whose SYN has data"
    if broken == had - SYN_DATA:
        return " whose SYN has no data"
    named = [f"'{each.value}'" for each in Probe if each in broken]
    return f" that begin with {' or '.join(named)}"


def _failure(each: Account) -> str:
    """How far a connection got that was not whole."""
    came = _behind(each)
    text = b"".join(each.trial.text)
    if not each.syn_acks:
        return UNOPENED
    if not text.startswith(each.trial.answer):
        return CHANGED
    if any(one.is_rst for one in came):
        return RESET
    every = [*each.syn_acks, *came]
    acknowledged = max(seq.distance(each.syn.seq, one.ack) - 1 for one in every if one.flags & ACK)
    if not any(one.window for one in every):
        return SHUT
    if all(one.is_syn_ack for one in came):
        return SILENT
    return UNACKNOWLEDGED if acknowledged < len(each.trial.text[0]) else UNANSWERED


def _behind(each: Account) -> list[Segment]:
    """All that came behind the first SYN-ACK."""
    came = [one.segment for one in each.trial.near if not one.sent]
    segments = [one for one in came if one is not None]
    at = next((number for number, one in enumerate(segments) if one.is_syn_ack), len(segments))
    return segments[at + 1 :]
