"""Boxes that pass a handshake and then break its connection."""

from __future__ import annotations

import random
from collections.abc import Hashable

from scapy_tfo.middleboxes.box import Box, Out, back, changed, onward
from scapy_tfo.segment import ACK, RST, Segment


class SilencesFlowAfterHandshake(Box):
    name = "silences-flow-after-handshake"
    summary = "passes SYNs and SYN-ACKs, and nothing else of any connection"
    no_client = "no connection gets further than its SYN-ACK"
    after_handshake = True

    def onward(self, segment: Segment, _now: float) -> Out:
        return [onward(segment)] if segment.is_syn else []

    def homeward(self, segment: Segment, _now: float) -> Out:
        return [back(segment)] if segment.is_syn_ack else []


class ResetsAfterHandshake(Box):
    """The segment that ends the handshake passes; a RST for each end goes with it."""

    name = "resets-after-handshake"
    summary = "resets each connection at both ends when its handshake is over"
    no_client = "every connection is reset in the other end's name"
    after_handshake = True

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._reset: set[Hashable] = set()

    def onward(self, segment: Segment, now: float) -> Out:
        passed = [*super().onward(segment, now)]
        flow = segment.src, segment.sport, segment.dst, segment.dport
        if segment.is_syn or segment.is_rst or flow in self._reset:
            return passed
        self._reset.add(flow)
        bare = {"options": b"", "payload": b"", "window": 0}
        home = changed(
            segment,
            src=segment.dst,
            dst=segment.src,
            sport=segment.dport,
            dport=segment.sport,
            seq=segment.ack,
            ack=segment.end,
            flags=RST | ACK,
            **bare,
        )
        out = changed(segment, seq=segment.end, flags=RST | ACK, **bare)
        return [*passed, back(home), onward(out)]


class DropsServerData(Box):
    name = "drops-server-data"
    summary = "drops every segment of the server's that carries data"
    no_client = "no byte of the server's reaches the client"
    after_handshake = True

    def homeward(self, segment: Segment, now: float) -> Out:
        return [] if segment.payload else super().homeward(segment, now)


class ShutsWindow(Box):
    name = "shuts-window"
    summary = "sets the server's window to 0 in every segment"
    no_client = "the client may never send more than a probe"
    after_handshake = True

    def homeward(self, segment: Segment, now: float) -> Out:
        return super().homeward(changed(segment, window=0), now)


class RewritesServerData(Box):
    name = "rewrites-server-data"
    summary = "changes the server's data, and makes the checksum right again"
    no_client = "the client is handed other data, with a checksum that is right"
    after_handshake = True

    def homeward(self, segment: Segment, now: float) -> Out:
        other = bytes(each ^ 0x20 for each in segment.payload)
        return super().homeward(changed(segment, payload=other), now)


class TracksNoFlowWithSynData(Box):
    """As a firewall does that takes up a connection by its SYN and does not expect data there."""

    name = "tracks-no-flow-with-syn-data"
    summary = "passes every SYN and SYN-ACK, and nothing else of a connection whose SYN had data"
    no_client = "the SYN's data is acknowledged, and then nothing of that connection passes"
    after_handshake = True

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._tracked: set[Hashable] = set()

    def syn(self, segment: Segment, now: float) -> Out:
        if not segment.payload:
            self._tracked.add((segment.src, segment.sport, segment.dst, segment.dport))
        return super().syn(segment, now)

    def onward(self, segment: Segment, now: float) -> Out:
        flow = segment.src, segment.sport, segment.dst, segment.dport
        passes = segment.is_syn or flow in self._tracked
        return super().onward(segment, now) if passes else []

    def homeward(self, segment: Segment, now: float) -> Out:
        flow = segment.dst, segment.dport, segment.src, segment.sport
        passes = segment.is_syn_ack or flow in self._tracked
        return super().homeward(segment, now) if passes else []
