"""What happens on a flow, as the oracle is told."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.packet import Reply
from scapy_tfo.program.options import Offer


@dataclass(slots=True)
class Came:
    """A segment of the target's. Times are in seconds, numbers relative.

    kind: its class, as `dispatch.reply_class` tells it. number: it acknowledges, from our ISN. seq:
    of its text, from the target's ISS; 1 behind a SYN. packet: its number in the trace, -1 where
    none is kept. first: it is the first SYN-ACK of its connection. most: number that the target's
    text may come up to.
    """

    reply: Reply
    kind: str
    offer: Offer
    number: int
    now: float
    packet: int
    seq: int = 1
    first: bool = False
    most: int = 1
