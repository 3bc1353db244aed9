"""Judges a segment behind the SYN-ACK by all that it holds, and learns from it."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.rules import Table, judge
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.oracle.replies.acknowledgment import NUMBERS
from scapy_tfo.oracle.replies.text import ENDS, PAYLOAD, PLACE, take_text
from scapy_tfo.oracle.replies.timestamps import AGREED, VALUES, learn_times
from scapy_tfo.segment import FIN
from scapy_tfo.seq import distance

_TIMES, _TEXT, _END = 1, 2, 4
"""What a segment may hold, as bits."""


def _table(held: int) -> Table:
    rules = [*NUMBERS]
    if held & (_TEXT | _END):
        rules += PLACE
    if held & _TEXT:
        rules += PAYLOAD
    if held & _END:
        rules += ENDS
    rules += AGREED
    if held & _TIMES:
        rules += VALUES
    return Table(*rules)


_BY_CONTENT = [_table(held) for held in range(8)]


def segment(link: Connection, came: Came) -> None:
    """A segment behind the SYN-ACK came."""
    iss, inbound = link.handshake.iss, link.inbound
    assert iss is not None
    reply, offer = came.reply, came.offer
    came.seq = distance(iss, reply.seq)
    held = 0
    if reply.payload:
        held = _TEXT
    if reply.flags & FIN:
        held |= _END
    if held:
        came.most = 1 + link.answer_size
    if offer.times is not None:
        held |= _TIMES
    judge(link, came, _BY_CONTENT[held])
    link.outbound.acknowledge(came.number, reply.window << (_their_scale(link) or 0))
    link.takes_text()
    received = inbound.received
    if came.seq == received - 1 and not reply.payload and inbound.edge <= received:
        # A probe of the closed window as Linux makes it (RFC 9293 section 3.8.6.1).
        link.timers.hear(came.now, repeated=True)
    if held & (_TEXT | _END):
        take_text(link, came)
    learn_times(link, came)


def _their_scale(link: Connection) -> int | None:
    options = link.profile.options
    return options.scale if options is not None and link.inbound.scale is not None else None
