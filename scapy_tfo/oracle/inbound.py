"""Judges each segment that the target sends, and learns from it."""

from __future__ import annotations

from scapy_tfo.oracle.reassembly import Assembly
from scapy_tfo.oracle.state import AFTER, ANY_RST, LISTEN, RCVD, Knowledge
from scapy_tfo.oracle.stream import check_times, take_text
from scapy_tfo.oracle.syn_ack import syn_ack
from scapy_tfo.packet import Reply
from scapy_tfo.program.options import Offer, offer_of
from scapy_tfo.segment import ACK, FIN, RST, SYN
from scapy_tfo.seq import distance

_MASK = 0xFFFFFFFF


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


def came(link: Knowledge, reply: Reply, now: float, packet: int) -> str:
    """Judge one segment of the target's and learn from it; returns its class.

    now: seconds. packet: its number in the trace.
    """
    kind = reply_class(reply)
    link.heard.append(kind)
    offer = offer_of(reply.options)
    sound = reply.sound and (link.asks_for_ecn or not reply.accurate)
    if not sound or kind in ("syn", "odd"):
        link.blame(
            "unsound",
            "ACC-9",
            "a segment with ACK, and a right checksum and data offset",
            f"flags {reply.flags:#x}, {'sound' if sound else 'unsound'}",
            reply=kind,
            packet=packet,
        )
        return kind
    if link.vague:
        return kind
    number = distance(link.isn, reply.ack)
    if kind == "rst":
        _rst(link, reply, number, now, packet)
        return kind
    if link.states == LISTEN:
        _from_nothing(link, kind, now, packet)
        return kind
    link.wants_answer = False
    if kind == "syn-ack":
        syn_ack(link, reply, offer, number, now, packet)
    elif link.iss is None:
        link.blame(
            "unopened",
            "ACC-9",
            "a SYN-ACK first",
            f"{kind} acknowledging {number}",
            group="stream",
            reply=kind,
            packet=packet,
        )
        # What its options may be, only the SYN-ACK says.
        return kind
    else:
        _segment(link, reply, offer, number, now, packet, kind)
    check_times(link, offer, packet, kind)
    return kind


def _rst(link: Knowledge, reply: Reply, number: int, now: float, packet: int) -> None:
    link.wants_answer = False
    link.lose_patience(now)
    wanted, link.wants_rst = link.wants_rst, None
    if wanted == ANY_RST:
        return
    if wanted is not None and link.states == LISTEN:
        seq, ack = wanted
        if ack:
            right = reply.seq == 0 and number == ack and bool(reply.flags & ACK)
        else:
            right = link.iss is None or (reply.seq - link.iss) & _MASK == seq & _MASK
        if not right:
            link.blame(
                "rst-numbers",
                "ACC-12a" if link.flow.port == "closed" else "AFT-9",
                f"RST that acknowledges {ack}" if ack else f"RST with sequence number {seq}",
                f"sequence number {reply.seq}, acknowledging {number}",
                reply="rst",
                packet=packet,
            )
        return
    rule = link.rule
    # A SYN that may be dropped may be answered with RST.
    droppable = link.iss is None and rule is not None and not rule.owed
    if not (link.rst_pardoned or droppable):
        if rule is not None and link.iss is None:
            link.blame(
                "syn-reset",
                rule.silent,
                "a SYN-ACK",
                "RST",
                group="" if link.room is not None else "opening",
                reply="rst",
                packet=packet,
            )
        else:
            link.blame(
                "reset",
                "ACC-9",
                "the connection goes on",
                "RST",
                group="reset",
                reply="rst",
                packet=packet,
            )
        link.states = LISTEN
        link.rst_pardoned = True
        link.wants_rst = None
        return
    # It ends the connection, or rejects one segment of ours.
    link.states |= LISTEN


def _from_nothing(link: Knowledge, kind: str, now: float, packet: int) -> None:
    """Something else than RST came from where no connection can be."""
    if link.flow.port == "closed":
        link.blame("closed", "ACC-12a", "RST", kind, reply=kind, packet=packet)
    elif link.reset_at is not None:
        if now - link.reset_at > AFTER or kind == "syn-ack":
            late = now - link.reset_at > AFTER
            if late:
                link.blame(
                    "lives-on", "AFT-9", "silence after RST", kind, reply=kind, packet=packet
                )
    elif link.rule is None:
        link.blame(
            "unasked",
            "ACC-12",
            "RST or silence: no SYN was sent",
            kind,
            group="unasked",
            reply=kind,
            packet=packet,
        )


def _segment(
    link: Knowledge, reply: Reply, offer: Offer, number: int, now: float, packet: int, kind: str
) -> None:
    """A segment behind the SYN-ACK."""
    assert link.iss is not None
    if number > link.may.next:
        link.blame(
            "ack-beyond",
            "ACC-10" if number > link.sent_end else "ACC-9",
            f"acknowledging {link.may.next} at most",
            f"acknowledging {number}",
            group="stream",
            reply=kind,
            packet=packet,
        )
    elif number < link.acked:
        early = link.states & RCVD and link.opened_at is None
        link.blame(
            "ack-back",
            "ACC-10" if early else "ACC-9",
            f"acknowledging {link.acked}, as before",
            f"acknowledging {number}",
            group="stream",
            reply=kind,
            packet=packet,
        )
    else:
        link.acked = number
        link.learn_taken(number)
    if offer.fast_open:
        link.blame(
            "option-on-segment",
            "OPT-4" if "option-elsewhere" in link.features else "SRV-8",
            "no Fast Open option on a segment without SYN",
            "one",
            reply=kind,
            packet=packet,
        )
    if number >= link.acked:
        link.room_end = number + (reply.window << (_their_scale(link) or 0))
        if link.room_end < link.must.next and number < link.must.next:
            # The window shrank (RFC 9293 section 3.8.6): what lies beyond may not have been taken.
            link.must = Assembly(number)
    for left, right in offer.blocks:
        _sack(link, left, right, number, packet, kind)
    seq = distance(link.iss, reply.seq)
    if seq == link.received - 1 and not reply.payload and link.edge <= link.received:
        # A probe of the closed window as Linux makes it (RFC 9293 section 3.8.6.1).
        link.their_last = now
        link.their_repeats += 1
    if reply.payload or reply.flags & FIN:
        take_text(link, reply, seq, now, packet, kind)


def _their_scale(link: Knowledge) -> int | None:
    return link.profile.options.scale if link.profile.options and link.scale is not None else None


def _sack(link: Knowledge, left: int, right: int, number: int, packet: int, kind: str) -> None:
    isn = link.isn
    start = distance(isn, left)
    end = distance(isn, right)
    known = any(a <= start < end <= b for a, b in _joined(link.told))
    if not link.sack or not known:
        link.blame(
            "sack",
            "AFT-11",
            "SACK blocks of what was sent" if link.sack else "no SACK, which was not agreed on",
            f"{start}:{end} beside {number}",
            group="blocks",
            reply=kind,
            packet=packet,
        )


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
