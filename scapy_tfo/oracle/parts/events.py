"""What happens on a flow, as the oracle is told."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.packet import Reply
from scapy_tfo.program.options import Offer
from scapy_tfo.program.program import Option


@dataclass(slots=True)
class Lies:
    """What is wrong with a segment of ours.

    reserved: it has reserved bits. traffic_class: another one than 0. checksum: it is wrong.
    offset: the data offset is, and `fits` if options or text begin there. fragmented: it went in
    fragments.
    """

    reserved: bool = False
    traffic_class: bool = False
    checksum: bool = False
    offset: bool = False
    fits: bool = False
    fragmented: bool = False


@dataclass(slots=True)
class Sent:
    """A segment of ours. Times are in seconds, numbers relative: `seq` to our ISN, `ack` to the
    target's ISS, None without the flag.

    size: bytes of text; wrong: other bytes than those of the flow. window: the field. options: as
    the program has them, for the requirement only. certain: what was sent before has come before,
    and this comes at all; else the target may never have seen it.
    """

    seq: int
    flags: int
    ack: int | None
    size: int
    window: int
    offer: Offer
    options: tuple[Option, ...]
    now: float
    wrong: bool = False
    certain: bool = True
    lies: Lies | None = None


@dataclass(slots=True)
class Icmp:
    """An ICMP error of ours about a segment of the target's. seq: of that segment, from its ISS.
    too_big: it says that the segment was too big, else that its way ends somewhere. founded: it
    names a connection of TCP, whatever it looks like."""

    seq: int
    too_big: bool = False
    founded: bool = True


class Came:
    """A segment of the target's. Times are in seconds, numbers relative.

    kind: its class, as `dispatch.reply_class` tells it. number: it acknowledges, from our ISN. seq:
    of its text, from the target's ISS; 1 behind a SYN. packet: its number in the trace, -1 where
    none is kept. first: it is the first SYN-ACK of its connection. Set where they mean something:
    most, the number that the target's text may come up to; taken and size, numbers behind the SYN's
    that a first SYN-ACK acknowledges, and how many there are.
    """

    __slots__ = (
        *("reply", "kind", "offer", "number", "now", "packet"),
        *("seq", "first", "most", "taken", "size"),
    )

    most: int
    taken: int
    size: int

    def __init__(
        self, reply: Reply, kind: str, offer: Offer, number: int, now: float, packet: int
    ) -> None:
        self.reply = reply
        self.kind = kind
        self.offer = offer
        self.number = number
        self.now = now
        self.packet = packet
        self.seq = 1
        self.first = False
