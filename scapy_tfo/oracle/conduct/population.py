"""Rules on what the connections of one host have in common: its ISNs (RFC 9293 3.4.1, RFC 6528)."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Judged, Rule, held

_ALIKE = 4
"""Connections in a row before one with the same ISS: none by chance, however few an end chooses
from."""


def iss_constant(history: History, came: Came) -> Judged:
    """The ISS changes from connection to connection (RFC 9293 section 3.4.1, MUST-8)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    alike = history.population.alike(history.key, came.segment.seq)
    return held(alike < _ALIKE, "another ISS than before", f"{came.segment.seq} again")


def iss_of_the_peer(history: History, came: Came) -> Judged:
    """The ISS does not follow from the peer's number (RFC 9293 section 3.4.1, RFC 6528)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    shifted = history.population.shifted(history.key, history.isn, came.segment.seq)
    return held(shifted < _ALIKE, "an ISS that is not made of the ISN", "the same distance again")


def iss_repeats(history: History, came: Came) -> Judged:
    """A new connection between the same ends has another ISS (RFC 9293 section 3.4.1)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    before = history.population.before(history.key)
    if before is None or before[0] == history.isn:
        return False
    return held(before[1] != came.segment.seq, "another ISS than before", f"{before[1]} again")


RULES = (
    Rule("iss-constant", iss_constant, complete=True, on="s"),
    Rule("iss-of-the-peer", iss_of_the_peer, complete=True, on="s"),
    Rule("iss-repeats", iss_repeats, complete=True, on="s"),
)
