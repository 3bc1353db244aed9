"""The base class of boxes on the path between a client and a server."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scapy_tfo import option as opt
from scapy_tfo.segment import MalformedPacketError, Segment


@dataclass(frozen=True, slots=True)
class Passed:
    """A packet that leaves a box. onward: towards the server. after: seconds from now."""

    packet: bytes
    onward: bool
    after: float = 0.0


Out = Sequence[Passed]


def onward(segment: Segment, *, after: float = 0.0) -> Passed:
    """Towards the server."""
    return Passed(segment.to_bytes(), True, after)


def back(segment: Segment) -> Passed:
    """Towards the client."""
    return Passed(segment.to_bytes(), False)


class Box:
    """Passes everything on; derived ones do to it what they are named after.

    name: `drops-syn-with-data`. summary: one line for people. no_client: why no client can have
    its data arrive whole and once behind it, "" where every conforming one can. after_handshake: it
    lets the handshake pass as it is. dice: of whatever is left to chance. `now` is in seconds on
    any one clock that never goes back.
    """

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "passes everything on as it is"
    no_client: ClassVar[str] = ""
    after_handshake: ClassVar[bool] = False

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def from_client(self, packet: bytes, now: float) -> Out:
        """Take a packet that comes from the client's side."""
        segment = read(packet)
        if segment is None:
            return self.other(Passed(packet, True))
        return self.syn(segment, now) if segment.is_syn else self.onward(segment, now)

    def from_server(self, packet: bytes, now: float) -> Out:
        """Take a packet that comes from the server's side."""
        segment = read(packet)
        if segment is None:
            return self.other(Passed(packet, False))
        return self.syn_ack(segment, now) if segment.is_syn_ack else self.homeward(segment, now)

    def syn(self, segment: Segment, now: float) -> Out:
        """A SYN of the client's."""
        return self.onward(segment, now)

    def syn_ack(self, segment: Segment, now: float) -> Out:
        """A SYN-ACK of the server's."""
        return self.homeward(segment, now)

    def onward(self, segment: Segment, _now: float) -> Out:
        """Any other segment of the client's."""
        return [onward(segment)]

    def homeward(self, segment: Segment, _now: float) -> Out:
        """Any other segment of the server's."""
        return [back(segment)]

    def other(self, passed: Passed) -> Out:
        """What is no TCP segment."""
        return [passed]


def read(packet: bytes) -> Segment | None:
    """The segment in a packet, or None."""
    try:
        return Segment.from_bytes(packet)
    except MalformedPacketError:
        return None


def changed(segment: Segment, **fields: Any) -> Segment:
    """The segment with other fields, its checksum right."""
    return replace(segment, checksum=None, **fields)


def without_option(segment: Segment) -> Segment:
    """The segment without its Fast Open options of either form."""
    kept = [each for each in opt.pull_options(segment.options) if opt.judge(each) is None]
    return changed(segment, options=opt.padded(opt.push_options(kept)))
