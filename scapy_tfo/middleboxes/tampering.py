"""Boxes that change, duplicate, split or delay the SYNs that they pass on."""

from __future__ import annotations

import random

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.middleboxes.box import Box, Out, changed, onward
from scapy_tfo.segment import PSH, Segment

LATE = (0.3, 2.5)
"""Seconds by which SYNs are late: less and more than a client waits before it sends another."""


class AcknowledgesLostData(Box):
    """As a proxy does that answers for the server and then loses what it holds."""

    name = "acknowledges-lost-data"
    summary = "takes the data out of SYNs, and acknowledges it all the same"
    no_client = "data that was acknowledged is gone: no TCP sends it again"

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._taken: dict[tuple[object, int], int] = {}

    def syn(self, segment: Segment, now: float) -> Out:
        if segment.payload:
            self._taken[segment.src, segment.sport] = len(segment.payload)
        return super().syn(changed(segment, payload=b""), now)

    def syn_ack(self, segment: Segment, now: float) -> Out:
        more = self._taken.get((segment.dst, segment.dport), 0)
        return super().syn_ack(changed(segment, ack=seq.add(segment.ack, more)), now)


class DuplicatesSyn(Box):
    name = "duplicates-syn"
    summary = "passes each SYN on twice"

    def syn(self, segment: Segment, now: float) -> Out:
        return [*super().syn(segment, now), *super().syn(segment, now)]


class DelaysSynWithData(Box):
    name = "delays-syn-with-data"
    summary = f"holds SYNs with data back, for {LATE[0]:g} to {LATE[1]:g} s"

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self.late = dice.uniform(*LATE)

    def syn(self, segment: Segment, _now: float) -> Out:
        return [onward(segment, after=self.late if segment.payload else 0.0)]


class SplitsSynData(Box):
    """The second half goes in a segment without ACK, for there is nothing to acknowledge yet;
    servers drop such a segment."""

    name = "splits-syn-data"
    summary = "passes half of a SYN's data on with it, and the rest in a segment behind it"

    def syn(self, segment: Segment, now: float) -> Out:
        half = len(segment.payload) // 2
        if not half:
            return super().syn(segment, now)
        rest = changed(
            segment,
            seq=seq.add(segment.seq, 1 + half),
            flags=PSH,
            options=b"",
            payload=segment.payload[half:],
        )
        return [onward(changed(segment, payload=segment.payload[:half])), onward(rest)]


class CutsSynData(Box):
    name = "cuts-syn-data"
    summary = "passes half of a SYN's data on, and drops the rest"

    def syn(self, segment: Segment, now: float) -> Out:
        kept = segment.payload[: -(-len(segment.payload) // 2)]
        return super().syn(changed(segment, payload=kept), now)


class RewritesSynData(Box):
    name = "rewrites-syn-data"
    summary = "changes the data of SYNs, and makes the checksum right again"
    no_client = "the server is handed other data, with a checksum that is right"

    def syn(self, segment: Segment, now: float) -> Out:
        other = bytes(each ^ 0x20 for each in segment.payload)
        return super().syn(changed(segment, payload=other), now)


class RewritesCookie(Box):
    name = "rewrites-cookie"
    summary = "changes the cookie in SYNs, so that the server refuses it"

    def syn(self, segment: Segment, now: float) -> Out:
        return super().syn(changed(segment, options=_other_cookies(segment.options)), now)


def _other_cookies(block: bytes) -> bytes:
    out = []
    for each in opt.pull_options(block):
        found = opt.judge(each)
        if isinstance(found, opt.FastOpen) and found.cookie:
            other = bytes(byte ^ 0xFF for byte in found.cookie)
            each = opt.fast_open(other, form=found.form)
        out.append(each)
    return opt.push_options(out)
