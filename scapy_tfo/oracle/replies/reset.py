"""Judges RST, and what comes where no connection can be."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, Table, judge, rule
from scapy_tfo.oracle.parts.state import AFTER, ANY_RST, LISTEN, OPEN, Connection
from scapy_tfo.segment import ACK

_MASK = 0xFFFFFFFF


def rst(link: Connection, came: Came) -> None:
    """A RST came."""
    link.owed.answered()
    link.lose_patience(came.now)
    broken = judge(link, came, _RST)
    wanted = link.owed.reset()
    if wanted == ANY_RST or (wanted is not None and link.states == LISTEN):
        return
    if broken:
        link.enter(LISTEN)
        link.owed.pardon()
        return
    # It ends the connection, or rejects one segment of ours.
    link.enter(link.states | LISTEN)


def _is_excused(link: Connection) -> bool:
    """A RST may come, whatever it is for."""
    wanted = link.owed.rst
    if wanted is not None and (wanted == ANY_RST or link.states == LISTEN):
        return True
    return link.owed.rst_pardoned


@rule("rst-numbers", source="RFC 9293 section 3.10.7.1", requirement="AFT-9")
def rst_numbers(link: Connection, came: Came) -> Finding:
    """A RST to a segment without a connection has the numbers that the segment tells."""
    wanted = link.owed.rst
    if wanted is None or wanted == ANY_RST or link.states != LISTEN:
        return None
    seq, ack = wanted
    reply = came.reply
    if ack:
        right = reply.seq == 0 and came.number == ack and bool(reply.flags & ACK)
    else:
        right = (
            link.handshake.iss is None or (reply.seq - link.handshake.iss) & _MASK == seq & _MASK
        )
    if right:
        return HELD
    return Breach(
        f"RST that acknowledges {ack}" if ack else f"RST with sequence number {seq}",
        f"sequence number {reply.seq}, acknowledging {came.number}",
        "ACC-12a" if link.flow.port == "closed" else "",
    )


@rule("syn-reset", source="RFC 9293 section 3.10.7.2", requirement="ACC-2", group="opening")
def syn_reset(link: Connection, came: Came) -> Finding:
    """A SYN that must not be dropped is not answered with RST."""
    syn = link.handshake.rule
    if syn is None or link.handshake.iss is not None or not syn.owed or _is_excused(link):
        return None
    if came.kind != "rst":
        return HELD
    return Breach("a SYN-ACK", "RST", syn.silent, "" if link.room is not None else None)


@rule("reset", source="RFC 9293 section 3.10.7.4", requirement="ACC-9", group="reset")
def reset(link: Connection, came: Came) -> Finding:
    """A connection is not reset without a reason."""
    if (link.handshake.iss is None and link.handshake.rule is not None) or _is_excused(link):
        return None
    if link.application.aborts and (link.states & OPEN or link.handshake.early):
        return None
    return Breach("the connection goes on", "RST") if came.kind == "rst" else HELD


@rule("closed", source="RFC 9293 section 3.10.7.1", requirement="ACC-12a")
def closed(link: Connection, came: Came) -> Finding:
    """At a port where nobody listens only RST answers."""
    if link.flow.port != "closed":
        return None
    return HELD if came.kind == "rst" else Breach("RST", came.kind)


@rule("lives-on", source="RFC 9293 section 3.10.7.4", requirement="AFT-9")
def lives_on(link: Connection, came: Came) -> Finding:
    """A connection that was reset sends nothing more, but what was on its way."""
    if link.flow.port == "closed" or link.history.reset_at is None or link.states != LISTEN:
        return None
    if came.kind == "rst" or came.now - link.history.reset_at <= AFTER:
        return HELD
    return Breach("silence after RST", came.kind)


@rule("unasked", source="RFC 9293 section 3.10.7.2", requirement="ACC-12", group="unasked")
def unasked(link: Connection, came: Came) -> Finding:
    """Without a SYN nothing but RST comes."""
    if (
        link.flow.port == "closed"
        or link.history.reset_at is not None
        or link.handshake.rule is not None
    ):
        return None
    if came.kind == "rst":
        return HELD
    return Breach("RST or silence: no SYN was sent", came.kind)


_RST = Table(rst_numbers, syn_reset, reset, closed, lives_on, unasked)
FROM_NOTHING = Table(closed, lives_on, unasked)
"""On something else than RST, where no connection can be."""
