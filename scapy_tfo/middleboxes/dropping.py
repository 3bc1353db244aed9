"""Boxes that drop packets of a fast open, and firewalls that block a flow or a server after one."""

from __future__ import annotations

import random

from scapy_tfo.middleboxes.box import Box, Out, changed
from scapy_tfo.segment import Segment

BIG = 600
"""Bytes of SYN data that are too many for the box that minds."""

BLOCKED_FOR = 60.0
"""Seconds for which a client is kept from a server."""


class DropsSynWithOption(Box):
    name = "drops-syn-with-option"
    summary = "drops SYNs with the option, whatever else they carry"

    def syn(self, segment: Segment, now: float) -> Out:
        return [] if segment.fast_open else super().syn(segment, now)


class DropsSynWithData(Box):
    name = "drops-syn-with-data"
    summary = "drops SYNs with data, with or without the option"

    def syn(self, segment: Segment, now: float) -> Out:
        return [] if segment.payload else super().syn(segment, now)


class DropsSynWithOptionAndData(Box):
    name = "drops-syn-with-option-and-data"
    summary = "drops SYNs with both the option and data; with either alone they pass"

    def syn(self, segment: Segment, now: float) -> Out:
        both = segment.fast_open and segment.payload
        return [] if both else super().syn(segment, now)


class DropsSynWithMuchData(Box):
    name = "drops-syn-with-much-data"
    summary = f"drops SYNs with {BIG} bytes of data or more"

    def syn(self, segment: Segment, now: float) -> Out:
        return [] if len(segment.payload) >= BIG else super().syn(segment, now)


class DropsSynAckWithCookie(Box):
    name = "drops-syn-ack-with-cookie"
    summary = "drops SYN-ACKs that bring a cookie"

    def syn_ack(self, segment: Segment, now: float) -> Out:
        return [] if segment.cookie else super().syn_ack(segment, now)


class BlocksFlowAfterSynData(Box):
    """RFC 7413 section 4.1.3.1: "blocking the connection completely after processing the SYN"."""

    name = "blocks-flow-after-syn-data"
    summary = "passes a SYN with data, and then nothing more of its connection"
    no_client = "not even a plain SYN of that connection passes any more; the next connection can"

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._blocked: dict[tuple[object, ...], float] = {}

    def syn(self, segment: Segment, now: float) -> Out:
        # Judged before the block begins, which this SYN begins and does not suffer.
        passed = super().syn(segment, now)
        if segment.payload and passed:
            self._blocked[self.scope(segment)] = now + BLOCKED_FOR
        return passed

    def onward(self, segment: Segment, now: float) -> Out:
        blocked = self._is_blocked(self.scope(segment), now)
        return [] if blocked else super().onward(segment, now)

    def homeward(self, segment: Segment, now: float) -> Out:
        blocked = self._is_blocked(self.scope(_turned(segment)), now)
        return [] if blocked else super().homeward(segment, now)

    def scope(self, segment: Segment) -> tuple[object, ...]:
        """What is blocked for a segment of the client's."""
        return segment.src, segment.sport, segment.dst, segment.dport

    def _is_blocked(self, scope: tuple[object, ...], now: float) -> bool:
        return self._blocked.get(scope, now) > now


class BlocksServerAfterSynData(BlocksFlowAfterSynData):
    name = "blocks-server-after-syn-data"
    summary = "passes a SYN with data, and then nothing between client and server for a minute"
    no_client = "for a while no packet of the client's reaches that server any more"

    def scope(self, segment: Segment) -> tuple[object, ...]:
        return segment.src, segment.dst, segment.dport


def _turned(segment: Segment) -> Segment:
    """The same ends, from the client's side."""
    return changed(
        segment, src=segment.dst, dst=segment.src, sport=segment.dport, dport=segment.sport
    )
