"""Judges the acknowledgment, the options and the window of a segment behind the SYN-ACK."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.reassembly import Assembly
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, judge, rule
from scapy_tfo.oracle.parts.state import RCVD, Knowledge
from scapy_tfo.oracle.replies.reset import reset
from scapy_tfo.oracle.replies.text import take_text
from scapy_tfo.segment import FIN
from scapy_tfo.seq import distance


def segment(link: Knowledge, came: Came) -> None:
    """A segment behind the SYN-ACK came."""
    assert link.iss is not None
    reply, number = came.reply, came.number
    came.seq = distance(link.iss, reply.seq)
    judge(link, came, _SEGMENT)
    if link.acked <= number <= link.may.next:
        link.acked = number
        link.learn_taken(number)
    if number >= link.acked:
        link.room_end = number + (reply.window << (_their_scale(link) or 0))
        if link.room_end < link.must.next and number < link.must.next:
            # The window shrank (RFC 9293 section 3.8.6): what lies beyond may not have been taken.
            link.must = Assembly(number)
    if came.seq == link.received - 1 and not reply.payload and link.edge <= link.received:
        # A probe of the closed window as Linux makes it (RFC 9293 section 3.8.6.1).
        link.their_last = came.now
        link.their_repeats += 1
    if reply.payload or reply.flags & FIN:
        take_text(link, came)


@rule("ack-beyond", source="RFC 9293 section 3.4", requirement="ACC-9", group="stream")
def ack_beyond(link: Knowledge, came: Came) -> Finding:
    """Nothing is acknowledged that the target cannot have taken."""
    if came.number <= link.may.next:
        return HELD
    return Breach(
        f"acknowledging {link.may.next} at most",
        f"acknowledging {came.number}",
        "ACC-10" if came.number > link.sent_end else "",
    )


@rule("ack-back", source="RFC 9293 section 3.4", requirement="ACC-9", group="stream")
def ack_back(link: Knowledge, came: Came) -> Finding:
    """What was acknowledged stays so."""
    if came.number > link.may.next:
        return None
    if came.number >= link.acked:
        return HELD
    early = link.states & RCVD and link.opened_at is None
    return Breach(
        f"acknowledging {link.acked}, as before",
        f"acknowledging {came.number}",
        "ACC-10" if early else "",
    )


@rule("option-on-segment", source="RFC 7413 section 4.1.1", requirement="SRV-8")
def option_on_segment(link: Knowledge, came: Came) -> Finding:
    """Only segments with SYN have a Fast Open option."""
    if not came.offer.fast_open:
        return HELD
    return Breach(
        "no Fast Open option on a segment without SYN",
        "one",
        "OPT-4" if "option-elsewhere" in link.features else "",
    )


@rule("sack", source="RFC 2018 section 4", requirement="AFT-11", group="blocks")
def sack(link: Knowledge, came: Came) -> Finding:
    """SACK blocks name what was sent, where SACK was agreed on."""
    blocks = came.offer.blocks
    if not blocks:
        return None
    wrong: list[Breach] = []
    for left, right in blocks:
        start = distance(link.isn, left)
        end = distance(link.isn, right)
        known = any(a <= start < end <= b for a, b in _joined(link.told))
        if not link.sack or not known:
            wrong.append(
                Breach(
                    "SACK blocks of what was sent"
                    if link.sack
                    else "no SACK, which was not agreed on",
                    f"{start}:{end} beside {came.number}",
                )
            )
    return tuple(wrong) if wrong else HELD


_SEGMENT = (ack_beyond, ack_back, option_on_segment, sack, reset)


def _their_scale(link: Knowledge) -> int | None:
    return link.profile.options.scale if link.profile.options and link.scale is not None else None


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
