"""Options misread or missent: RFC 9293 section 3.1, RFC 7323, RFC 2018."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import rule_mutant
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.segment import SYN, Segment
from scapy_tfo.tcp_mutants.headers import Dressed

UNKNOWN = 200
"""The kind of an option that nobody has assigned."""
_WORD = 4


@rule_mutant("TCP-HDR-1")
class WrongChecksums(Dressed):
    """Text and FINs have a checksum of zero."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, checksum=0) if segment.payload or segment.is_fin else segment


@rule_mutant("TCP-OPT-1")
class OptionWithoutALength(Dressed):
    """A SYN-ACK has an option of a kind above 1 that consists of its kind alone."""

    def dress(self, segment: Segment) -> Segment:
        if not segment.is_syn_ack or len(segment.options) >= opt.MAX_OPTIONS - _WORD:
            return segment
        # What stands behind it is read as its length, and that leads nowhere.
        return replace(segment, options=opt.padded(segment.options + bytes((UNKNOWN,)) + b"\x01"))


@rule_mutant("TCP-OPT-7")
class ReadsAtWordBoundariesOnly(Listener):
    """Of a SYN's options those are read that begin at a multiple of four bytes."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        at, kept = 0, []
        for each in opt.pull_options(segment.options):
            if each.kind == opt.EOL or not at % _WORD:
                kept.append(each)
            at += len(opt.push_options([each]))
        block = opt.padded(opt.push_options(kept))
        super().syn_arrives(replace(segment, options=block), now)


@rule_mutant("TCP-TS-9")
class GivesUpWithoutTimestamps(PassiveConnection):
    """A segment that lacks the agreed timestamps ends the connection."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        if self.timestamps and segment.timestamps is None:
            self.abort(now)
            return False
        return super().passes_paws(segment, now)


@rule_mutant("TCP-PAWS-2")
class DropsOldTimestampsInSilence(PassiveConnection):
    """Text with an old timestamp is dropped, and nothing is said."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        times = segment.timestamps
        if self.timestamps and times and seq.before(times[0], self.recv.ts_recent):
            return False
        return super().passes_paws(segment, now)


@rule_mutant("TCP-PAWS-5")
class RemembersTimestampsForEver(PassiveConnection):
    """How long ago a timestamp came does not matter: older ones are refused."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        self.recv.ts_recent_at = now
        return super().passes_paws(segment, now)


@rule_mutant("TCP-WS-7")
class ScalesByWhatComesLater(PassiveConnection):
    """A window scale in a segment without SYN takes the place of the agreed one."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        for each in opt.pull_options(segment.options):
            if each.kind == opt.WINDOW_SCALE and each.data and not segment.flags & SYN:
                self.send.shift = each.data[0] & 15
        super().other_arrives(segment, now)


@rule_mutant("TCP-SACK-11")
class AbortsForBlocksOfNothing(PassiveConnection):
    """A SACK block of what was not sent ends the connection."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        for each in opt.pull_options(segment.options):
            if each.kind == opt.SACK and len(each.data) >= 8:
                edge = int.from_bytes(each.data[4:8], "big")
                if seq.before(self.send.nxt, edge):
                    self.abort(now)
                    return
        super().other_arrives(segment, now)
