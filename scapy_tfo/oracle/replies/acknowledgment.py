"""Judges the acknowledgment and the options of a segment behind the SYN-ACK."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, rule
from scapy_tfo.oracle.parts.state import RCVD, Connection
from scapy_tfo.seq import distance


@rule("ack-beyond", source="RFC 9293 section 3.4", requirement="ACC-9", group="stream")
def ack_beyond(link: Connection, came: Came) -> Finding:
    """Nothing is acknowledged that the target cannot have taken."""
    if came.number <= link.outbound.may.next:
        return HELD
    return Breach(
        f"acknowledging {link.outbound.may.next} at most",
        f"acknowledging {came.number}",
        "ACC-10" if came.number > link.outbound.sent_end else "",
    )


@rule("ack-back", source="RFC 9293 section 3.4", requirement="ACC-9", group="stream")
def ack_back(link: Connection, came: Came) -> Finding:
    """What was acknowledged stays so."""
    if came.number > link.outbound.may.next:
        return None
    if came.number >= link.outbound.acked:
        return HELD
    early = link.states & RCVD and link.handshake.opened_at is None
    return Breach(
        f"acknowledging {link.outbound.acked}, as before",
        f"acknowledging {came.number}",
        "ACC-10" if early else "",
    )


@rule("option-on-segment", source="RFC 7413 section 4.1.1", requirement="SRV-8")
def option_on_segment(link: Connection, came: Came) -> Finding:
    """Only segments with SYN have a Fast Open option."""
    if not came.offer.fast_open:
        return HELD
    return Breach(
        "no Fast Open option on a segment without SYN",
        "one",
        "OPT-4" if "option-elsewhere" in link.evidence.features else "",
    )


@rule("sack", source="RFC 2018 section 4", requirement="AFT-11", group="blocks")
def sack(link: Connection, came: Came) -> Finding:
    """SACK blocks name what was sent, where SACK was agreed on."""
    wrong: list[Breach] = []
    for left, right in came.offer.blocks:
        start = distance(link.isn, left)
        end = distance(link.isn, right)
        known = any(a <= start < end <= b for a, b in _joined(link.history.told))
        if not link.inbound.sack or not known:
            wrong.append(
                Breach(
                    "SACK blocks of what was sent"
                    if link.inbound.sack
                    else "no SACK, which was not agreed on",
                    f"{start}:{end} beside {came.number}",
                )
            )
    return tuple(wrong) if wrong else HELD


NUMBERS = (ack_beyond, ack_back, option_on_segment)
"""On any segment behind the SYN-ACK."""
BLOCKS = (sack,)
"""On one with SACK blocks."""


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
