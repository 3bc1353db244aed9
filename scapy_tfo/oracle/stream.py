"""Judges the text, FIN and timestamps that the target sends."""

from __future__ import annotations

from scapy_tfo.oracle.profile import WHOLE
from scapy_tfo.oracle.state import AFTER, OPEN, Knowledge
from scapy_tfo.packet import Reply
from scapy_tfo.program.options import Offer
from scapy_tfo.program.payload import text, wrong_text
from scapy_tfo.segment import FIN
from scapy_tfo.seq import before

_MASK = 0xFFFFFFFF


def take_text(link: Knowledge, reply: Reply, seq: int, now: float, packet: int, kind: str) -> None:
    """Text and FIN of the target: the echo of what it may have taken, in its place."""
    payload = reply.payload
    end = seq + len(payload)
    if link.opened_at is None and not link.states & OPEN and not link.early:
        link.blame(
            "early-text",
            _early_clause(link),
            "nothing before the handshake ends",
            f"{len(payload)} bytes and flags {reply.flags:#x}",
            reply=kind,
            packet=packet,
        )
    if seq < 1:
        link.blame(
            "text-place",
            "ACC-9",
            "text from number 1 on",
            f"number {seq}",
            group="stream",
            reply=kind,
            packet=packet,
        )
        return
    most = 1 + link.answer_size
    if end > most:
        link.blame(
            "text-excess",
            "ACC-9",
            f"{most - 1} bytes at most: what was taken, once",
            f"bytes up to {end - 1}",
            group="stream",
            reply=kind,
            packet=packet,
        )
    elif payload and not _is_echo(link, seq, payload):
        link.blame(
            "text-wrong",
            "ACC-9",
            "the stream's bytes in their place",
            repr(payload[:24]),
            group="stream",
            reply=kind,
            packet=packet,
        )
    if payload:
        _check_size(link, reply, end, now, packet, kind)
    if reply.flags & FIN and (not link.may.ended or end < most):
        link.blame(
            "fin-early",
            _fin_clause(link),
            "FIN behind the whole echo, after our FIN",
            f"FIN at {end}",
            reply="fin",
            packet=packet,
        )
    _count(link, seq, end, bool(reply.flags & FIN), now)


def _count(link: Knowledge, seq: int, end: int, fin: bool, now: float) -> None:
    """Text up to `end` came, and perhaps a FIN behind it."""
    # Also a repetition that goes on where the first one ended.
    repeated = seq < link.received or end + fin <= link.received
    link.theirs.add(seq, end, fin)
    link.received, link.their_fin = link.theirs.next, link.theirs.fin
    link.their_repeats = link.their_repeats + 1 if repeated else 0
    link.their_last = now


def _check_size(
    link: Knowledge, reply: Reply, end: int, now: float, packet: int, kind: str
) -> None:
    """Text fits the window and the MSS."""
    size = len(reply.payload)
    # A SYN cookie has room for a few sizes (RFC 4987 section 3.6).
    most_text = max(link.mss, WHOLE if link.profile.stateless else 88)
    if end > link.limit and not _is_probe(link, end - size, size, now):
        link.blame(
            "over-window",
            "AFT-7",
            f"text up to {link.limit}, where the window ends",
            f"text up to {end}",
            reply=kind,
            packet=packet,
        )
    if link.profile.whole and size + len(reply.options) > most_text:
        link.blame(
            "over-mss",
            "AFT-7b",
            f"{most_text} bytes of options and text at most",
            f"{size + len(reply.options)}",
            reply=kind,
            packet=packet,
        )


def _is_probe(link: Knowledge, seq: int, size: int, now: float) -> bool:
    """A probe of a closed window has at least one byte (RFC 9293 section 3.8.6.1)."""
    if size == 1:
        return seq >= link.limit
    return seq >= link.edge and now - link.edge_at > AFTER


def _is_echo(link: Knowledge, seq: int, payload: bytes) -> bool:
    start = link.base + seq
    if payload == text(link.index, start, len(payload)):
        return True
    if not link.odd_text:
        return False
    right = text(link.index, start, len(payload))
    wrong = wrong_text(link.index, start, len(payload))
    return all(
        one == right[at]
        or (one == wrong[at] and any(a <= start + at < b for a, b in link.odd_text))
        for at, one in enumerate(payload)
    )


def check_times(link: Knowledge, offer: Offer, packet: int, kind: str) -> None:
    """Timestamps on every segment once agreed on, and none else (RFC 7323 section 3.2)."""
    if kind == "syn-ack":
        agreed = link.timestamps if link.iss is not None else link.offer.times is not None
        if link.other_offers and agreed != (offer.times is not None):
            # It answers the SYN that offered something else: which of the two decides is open.
            link.times_open = True
        if offer.times is None or not link.timestamps:
            return
    elif link.timestamps != (offer.times is not None) and not link.times_open:
        early = link.opened_at is None
        link.blame(
            "timestamps",
            "AFT-6" if link.timestamps else "OPT-9",
            "timestamps" if link.timestamps else "no timestamps: they were not agreed on",
            "none" if link.timestamps else "timestamps",
            reply="text" if early else kind,
            packet=packet,
        )
        return
    if offer.times is None:
        return
    value, echo = offer.times
    if link.last_tsval is not None and before(value, link.last_tsval):
        link.blame(
            "clock-back",
            "AFT-6",
            f"TSval {link.last_tsval} or later",
            f"{value}",
            reply=kind,
            packet=packet,
        )
    link.last_tsval = value
    if kind == "syn-ack" or link.opened_at is not None or link.echo is None:
        # Before the handshake ends it is the SYN-ACK's that a careful target wants back.
        link.echo = value
    settled = link.times_settled
    if kind != "syn-ack" and (
        echo not in link.times_sent
        or (settled is not None and before(echo + 1 & 0xFFFFFFFF, settled))
        or (link.times_may is not None and before(link.times_may, echo))
    ):
        link.blame(
            "echo-of-time",
            "AFT-6",
            f"TSecr {settled} or later, of a segment that was sent",
            f"TSecr {echo}",
            reply=kind,
            packet=packet,
        )


def _early_clause(link: Knowledge) -> str:
    if "cookie-alone" in link.features:
        return "ACC-5"
    if link.rule is None:
        return "ACC-4"
    return "ACC-3" if link.taken == 0 and link.rule.early else link.rule.taken


def _fin_clause(link: Knowledge) -> str:
    if link.syn_fin:
        return "ACC-12"
    return "ACC-5" if "cookie-alone" in link.features else "AFT-2"
