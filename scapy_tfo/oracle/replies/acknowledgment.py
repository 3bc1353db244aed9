"""Judges the acknowledgment of a segment behind the SYN-ACK."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, rule
from scapy_tfo.oracle.parts.state import RCVD, Connection


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


NUMBERS = (ack_beyond, ack_back)
"""On any segment behind the SYN-ACK."""
