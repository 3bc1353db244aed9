"""Judges the text and the FIN that the target sends."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.profile import WHOLE
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, rule
from scapy_tfo.oracle.parts.state import OPEN, Connection
from scapy_tfo.segment import FIN

_LEAST_TIMEOUT = 0.19
"""Seconds of the shortest timeout of known stacks (RFC 6298 section 2.4), less what clocks lose."""


def take_text(link: Connection, came: Came) -> None:
    """Text and FIN of the target, after they were judged."""
    if came.seq < 1:
        return
    end, fin = came.seq + len(came.reply.payload), bool(came.reply.flags & FIN)
    # Also a repetition that goes on where the first one ended; and a probe of the window is what a
    # timer sent, which is backed off like one (RFC 9293 section 3.8.6.1).
    inbound = link.inbound
    repeated = (
        came.seq < inbound.received or end + fin <= inbound.received or came.seq >= inbound.edge
    )
    inbound.take(came.seq, end, fin=fin)
    link.timers.hear(came.now, repeated=repeated)


@rule("early-text", source="RFC 7413 section 4.2.2", requirement="ACC-4")
def early_text(link: Connection, came: Came) -> Finding:
    """The application answers before the handshake ends only to text with a good cookie."""
    if link.handshake.opened_at is not None or link.states & OPEN or link.handshake.early:
        return HELD
    return Breach(
        "nothing before the handshake ends",
        f"{len(came.reply.payload)} bytes and flags {came.reply.flags:#x}",
        _early_clause(link),
    )


@rule("text-place", source="RFC 9293 section 3.4", requirement="ACC-9", group="stream")
def text_place(_link: Connection, came: Came) -> Finding:
    """Text begins behind the SYN."""
    return HELD if came.seq >= 1 else Breach("text from number 1 on", f"number {came.seq}")


@rule("text-excess", source="RFC 9293 section 3.10.7.4", requirement="ACC-9", group="stream")
def text_excess(link: Connection, came: Came) -> Finding:
    """The answer is no longer than the application can have it of what was taken."""
    if came.seq < 1 or not link.application.told:
        return None
    end = came.seq + len(came.reply.payload)
    if end <= came.most:
        return HELD
    return Breach(f"{came.most - 1} bytes at most: what was taken, once", f"bytes up to {end - 1}")


@rule("text-wrong", source="RFC 9293 section 3.10.7.4", requirement="ACC-9", group="stream")
def text_wrong(link: Connection, came: Came) -> Finding:
    """The application's bytes come in their place."""
    payload = came.reply.payload
    if came.seq < 1 or came.seq + len(payload) > came.most or not link.application.told:
        return None
    if link.application.is_right(
        link.index, link.outbound.base + came.seq, payload, link.outbound.odd_text
    ):
        return HELD
    return Breach("the stream's bytes in their place", repr(payload[:24]))


@rule("over-window", source="RFC 9293 section 3.8.6", requirement="AFT-7")
def over_window(link: Connection, came: Came) -> Finding:
    """Text fits the window that was offered."""
    if came.seq < 1:
        return None
    size = len(came.reply.payload)
    end = came.seq + size
    if end <= link.inbound.limit or _is_probe(link, came.seq, size, came.now):
        return HELD
    return Breach(f"text up to {link.inbound.limit}, where the window ends", f"text up to {end}")


@rule("over-mss", source="RFC 9293 section 3.7.1", requirement="AFT-7b")
def over_mss(link: Connection, came: Came) -> Finding:
    """Text and options fit the MSS that was offered."""
    if came.seq < 1 or not link.profile.whole:
        return None
    size = len(came.reply.payload)
    # A SYN cookie has room for a few sizes (RFC 4987 section 3.6).
    most = max(link.inbound.mss, WHOLE if link.profile.stateless else 88)
    size += len(came.reply.options)
    return HELD if size <= most else Breach(f"{most} bytes of options and text at most", f"{size}")


@rule("fin-early", source="RFC 9293 section 3.10.4", requirement="AFT-2")
def fin_early(link: Connection, came: Came) -> Finding:
    """The application closes behind all that it has to say, after our FIN."""
    if came.seq < 1 or not link.application.closes:
        return None
    end = came.seq + len(came.reply.payload)
    if link.outbound.may.ended and end >= came.most:
        return HELD
    return Breach(
        "FIN behind the whole echo, after our FIN",
        f"FIN at {end}",
        _fin_clause(link),
        reply="fin",
    )


PLACE = (early_text, text_place, text_excess)
"""On text, and on FIN."""
PAYLOAD = (text_wrong, over_window, over_mss)
ENDS = (fin_early,)


def _is_probe(link: Connection, seq: int, size: int, now: float) -> bool:
    """A probe of a closed window has at least one byte (RFC 9293 section 3.8.6.1)."""
    if size == 1:
        return seq >= link.inbound.limit
    return seq >= link.inbound.edge and now - link.inbound.edge_at > _LEAST_TIMEOUT


def _early_clause(link: Connection) -> str:
    if "cookie-alone" in link.evidence.features:
        return "ACC-5"
    if link.handshake.rule is None:
        return "ACC-4"
    return (
        "ACC-3"
        if link.handshake.taken == 0 and link.handshake.rule.early
        else link.handshake.rule.taken
    )


def _fin_clause(link: Connection) -> str:
    if link.handshake.fin:
        return "ACC-12"
    return "ACC-5" if "cookie-alone" in link.evidence.features else "AFT-2"
