"""Judges each segment that the target sends, and learns from it."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, Table, judge, rule
from scapy_tfo.oracle.parts.state import LISTEN, Connection
from scapy_tfo.oracle.replies.reset import FROM_NOTHING, rst, syn_reset
from scapy_tfo.oracle.replies.segment import segment
from scapy_tfo.oracle.replies.syn_ack import syn_ack
from scapy_tfo.packet import Reply
from scapy_tfo.program.options import offer_of
from scapy_tfo.segment import ACK, FIN, RST, SYN
from scapy_tfo.seq import distance


def reply_class(reply: Reply) -> str:
    """One of "rst", "syn-ack", "syn", "fin", "text", "ack" and "odd"."""
    flags = reply.flags
    if flags & RST:
        return "rst"
    if flags & SYN:
        return "syn-ack" if flags & ACK else "syn"
    if not flags & ACK:
        return "odd"
    if flags & FIN:
        return "fin"
    return "text" if reply.payload else "ack"


def came(link: Connection, reply: Reply, now: float, packet: int) -> str:
    """Judge one segment of the target's and learn from it; returns its class.

    now: seconds. packet: its number in the trace.
    """
    kind = reply_class(reply)
    link.evidence.heard.append(kind)
    number = distance(link.isn, reply.ack)
    event = Came(reply, kind, offer_of(reply.options), number, now, packet)
    if not reply.sound or reply.accurate or kind in _NEVER:
        if judge(link, event, _SUSPECT):
            return kind
    else:
        # As the table would count it: most segments are sound.
        link.watch.passes[_SUSPECT.number] += 1
    if link.vague:
        return kind
    if kind == "rst":
        rst(link, event)
        return kind
    if link.states == LISTEN:
        judge(link, event, FROM_NOTHING)
        return kind
    link.owed.answered()
    if link.handshake.iss is None and (judge(link, event, _OPENING) or kind != "syn-ack"):
        # What its options may be, only the SYN-ACK says.
        return kind
    if kind == "syn-ack":
        syn_ack(link, event)
    else:
        segment(link, event)
    return kind


@rule("unsound", source="RFC 9293 section 3.1", requirement="ACC-9")
def unsound(link: Connection, came: Came) -> Finding:
    """A segment can be read, and has ACK or RST; reserved bits are those of ECN that was asked for
    (RFC 9768 section 3.1.3)."""
    reply, kind = came.reply, came.kind
    sound = reply.sound and (link.history.asks_for_ecn or not reply.accurate)
    if sound and kind not in ("syn", "odd"):
        return HELD
    return Breach(
        "a segment with ACK, and a right checksum and data offset",
        f"flags {reply.flags:#x}, {'sound' if sound else 'unsound'}",
    )


@rule("unopened", source="RFC 9293 section 3.10.7.2", requirement="ACC-9", group="stream")
def unopened(link: Connection, came: Came) -> Finding:
    """The SYN-ACK comes first, but for an ACK that refuses what was sent after the SYN."""
    if came.kind == "syn-ack":
        return HELD
    rule = link.handshake.rule
    if came.kind == "ack" and link.owed.unsettled > (rule is not None and rule.owed):
        return None
    return Breach("a SYN-ACK first", f"{came.kind} acknowledging {came.number}")


_NEVER = ("syn", "odd")
_SUSPECT = Table(unsound)
_OPENING = Table(syn_reset, unopened)
