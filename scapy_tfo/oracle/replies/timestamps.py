"""Judges the timestamps of what the target sends (RFC 7323)."""

from __future__ import annotations

from scapy_tfo.oracle.parts.events import Came
from scapy_tfo.oracle.parts.rules import HELD, Breach, Finding, rule
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.program.options import Offer
from scapy_tfo.seq import before


def learn_times(link: Connection, came: Came) -> None:
    """Note the timestamps of a segment, where they tell something."""
    if came.offer.times is None or not _are_checked(link, came):
        return
    # Before the handshake ends it is the SYN-ACK's that a careful target wants back.
    echoed = came.kind == "syn-ack" or link.handshake.opened_at is not None
    link.times.learn(came.offer.times[0], echoed=echoed)


def may_be_open(link: Connection, offer: Offer) -> None:
    """A SYN-ACK that answers the SYN that offered something else: which of the two decides on
    timestamps is open."""
    if link.handshake.other_offers and link.times.agreed != (offer.times is not None):
        link.times.doubt()


def _are_checked(link: Connection, came: Came) -> bool:
    return link.times.agreed or (link.times.open and came.kind != "syn-ack")


@rule("timestamps", source="RFC 7323 section 3.2", requirement="AFT-6")
def timestamps(link: Connection, came: Came) -> Finding:
    """Once agreed on they are on every segment, and else on none."""
    if came.kind == "syn-ack" or link.times.open:
        return None
    if link.times.agreed == (came.offer.times is not None):
        return HELD
    return Breach(
        "timestamps" if link.times.agreed else "no timestamps: they were not agreed on",
        "none" if link.times.agreed else "timestamps",
        "" if link.times.agreed else "OPT-9",
        reply="text" if link.handshake.opened_at is None else "",
    )


@rule("clock-back", source="RFC 7323 section 4.1", requirement="AFT-6")
def clock_back(link: Connection, came: Came) -> Finding:
    """The target's clock does not go back."""
    if came.offer.times is None or not _are_checked(link, came) or link.times.last is None:
        return None
    value = came.offer.times[0]
    if not before(value, link.times.last):
        return HELD
    return Breach(f"TSval {link.times.last} or later", f"{value}")


@rule("echo-of-time", source="RFC 7323 section 4.3", requirement="AFT-6")
def echo_of_time(link: Connection, came: Came) -> Finding:
    """TSecr is of a segment that was sent, and not older than one that was taken."""
    if came.kind == "syn-ack" or came.offer.times is None or not _are_checked(link, came):
        return None
    echo, settled = came.offer.times[1], link.times.settled
    if (
        echo in link.times.sent
        and (settled is None or not before(echo + 1 & 0xFFFFFFFF, settled))
        and (link.times.may is None or not before(link.times.may, echo))
    ):
        return HELD
    return Breach(f"TSecr {settled} or later, of a segment that was sent", f"TSecr {echo}")


AGREED = (timestamps,)
"""On any segment."""
VALUES = (clock_back, echo_of_time)
"""On one that has timestamps."""
