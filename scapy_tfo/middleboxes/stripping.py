"""Boxes that remove the option or the data from packets."""

from __future__ import annotations

from scapy_tfo.middleboxes.box import Box, Out, changed, without_option
from scapy_tfo.segment import Segment


class StripsOptionFromSyn(Box):
    name = "strips-option-from-syn"
    summary = "takes the option out of SYNs; their data passes"

    def syn(self, segment: Segment, now: float) -> Out:
        return super().syn(without_option(segment), now)


class StripsOptionFromSynAck(Box):
    name = "strips-option-from-syn-ack"
    summary = "takes the option out of SYN-ACKs: no cookie reaches the client"

    def syn_ack(self, segment: Segment, now: float) -> Out:
        return super().syn_ack(without_option(segment), now)


class StripsOption(StripsOptionFromSyn, StripsOptionFromSynAck):
    name = "strips-option"
    summary = "takes the option out of SYNs and SYN-ACKs"


class StripsSynData(Box):
    name = "strips-syn-data"
    summary = "takes the data out of SYNs; their option passes"

    def syn(self, segment: Segment, now: float) -> Out:
        return super().syn(changed(segment, payload=b""), now)
