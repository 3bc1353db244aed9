"""Wrong answers to one segment that is odd: RFC 9293 sections 3.1, 3.5, 3.8 and 3.10.7.4."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, FIN, URG, Segment


class Deaf(PassiveConnection):
    """Drops some segments without SYN and RST."""

    def minds(self, segment: Segment) -> bool:
        """Whether it is dropped."""
        raise NotImplementedError

    def other_arrives(self, segment: Segment, now: float) -> None:
        if not self.minds(segment):
            super().other_arrives(segment, now)


@tcp_mutant("bad-checksum-taken", "TCP-HDR-2.text-without-a-checksum")
class TakesZeroForNoChecksum(Stack):
    """A checksum field of zero is taken for none, as UDP over IPv4 does."""

    def is_sound(self, segment: Segment) -> bool:
        return super().is_sound(replace(segment, checksum=segment.checksum or None))


@tcp_mutant("urgent-text-dropped", "TCP-URG-2.urgent-text")
class DropsUrgentText(Deaf):
    """Text with URG is dropped."""

    def minds(self, segment: Segment) -> bool:
        return bool(segment.flags & URG)


@tcp_mutant("reserved-bits-minded", "TCP-HDR-5.text-with-a-reserved-bit")
class MindsReservedBits(Deaf):
    """A segment with a reserved bit is dropped."""

    def minds(self, segment: Segment) -> bool:
        return bool(segment.reserved)


@tcp_mutant("strange-option-minded", "TCP-OPT-4.text-with-a-strange-option")
class MindsStrangeOptions(Deaf):
    """A segment with an option that nobody knows is dropped."""

    known: ClassVar = {opt.NOP, opt.EOL, opt.TIMESTAMPS, opt.SACK}

    def minds(self, segment: Segment) -> bool:
        return any(each.kind not in self.known for each in opt.pull_options(segment.options))


@tcp_mutant("unasked-times-minded", "TCP-TS-10.text-with-unasked-timestamps")
class MindsUnaskedTimes(Deaf):
    """A segment with timestamps that were not agreed on is dropped."""

    def minds(self, segment: Segment) -> bool:
        return not self.timestamps and segment.timestamps is not None


@tcp_mutant("keepalive-unanswered", "TCP-KEEP-5.a-keepalive")
class DeafToKeepalives(PassiveConnection):
    """An empty segment outside of the window is not answered."""

    def answer_empty(self, now: float) -> None:
        """Say nothing."""


@tcp_mutant("old-text-unanswered", "TCP-SEQ-1.old-text")
class DeafToOldText(PassiveConnection):
    """Text that came before is not answered."""

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        if not segment.payload:
            super().unacceptable_arrives(segment, now)


@tcp_mutant("text-without-ack-taken", "TCP-SEQ-6.text-without-ack")
class NeedsNoAck(PassiveConnection):
    """Text without the ACK flag is taken."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.payload and not segment.flags & ACK:
            self.text_arrives(segment, segment.seq, now)
        super().other_arrives(segment, now)


@tcp_mutant("text-beside-a-wrong-ack", "TCP-ACK-12.text-beside-a-wrong-ack")
class BelievesWrongAcks(PassiveConnection):
    """Text that acknowledges what was not sent is taken."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is not State.SYN_RCVD and seq.before(self.send.nxt, segment.ack):
            return True
        return super().ack_arrives(segment, start, now)


@tcp_mutant("opens-for-a-wrong-ack", "TCP-SYN-15.a-wrong-ack-of-a-syn-ack")
class OpensForAnyAck(PassiveConnection):
    """Any ACK ends the handshake."""

    def completes_handshake(self, ack: int) -> bool:
        return True

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is State.SYN_RCVD:
            self.establish(now)
            return True
        return super().ack_arrives(segment, start, now)


@tcp_mutant("wrong-ack-unanswered", "TCP-SYN-15.a-wrong-ack-of-a-syn-ack")
class DeafToWrongAcks(PassiveConnection):
    """A wrong ACK of the SYN-ACK, and the SYN-ACK's timer, are both without an answer."""

    def start_handshake(self, now: float) -> None:
        self.handshake_sent_at = now

    def refuse_ack(self, ack: int) -> None:
        """Say nothing."""


class DeafToSomeResets(PassiveConnection):
    """Ignores some RSTs."""

    def ignores(self, segment: Segment) -> bool:
        """Whether a RST is ignored."""
        raise NotImplementedError

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if not self.ignores(segment):
            super().rst_arrives(segment, now)


@tcp_mutant("rst-with-fin-ignored", "TCP-RST-16.a-rst-with-fin")
class DeafToResetsWithFin(DeafToSomeResets):
    """A RST that has FIN is ignored."""

    def ignores(self, segment: Segment) -> bool:
        return bool(segment.flags & FIN)


@tcp_mutant("rst-at-closed-window-ignored", "TCP-RST-10.a-rst-at-a-closed-window")
class DeafToResetsBehindItsWindow(DeafToSomeResets):
    """A RST that comes to a closed window is ignored."""

    def ignores(self, segment: Segment) -> bool:
        return not self.recv.wnd


@tcp_mutant("rst-with-old-times-ignored", "TCP-PAWS-3.a-rst-with-an-old-timestamp")
class DeafToResetsFromBefore(DeafToSomeResets):
    """A RST whose timestamp is old is ignored."""

    def ignores(self, segment: Segment) -> bool:
        times = segment.timestamps
        return self.timestamps and times is not None and seq.before(times[0], self.recv.ts_recent)


@tcp_mutant("syn-ack-after-rst", "TCP-RST-8.a-rst-of-a-half-open-connection")
class DeafToResetsWhileHalfOpen(DeafToSomeResets):
    """A RST before the handshake's end is ignored."""

    def ignores(self, segment: Segment) -> bool:
        return self.state is State.SYN_RCVD


@tcp_mutant("rst-outside-ends", "TCP-RST-9.a-rst-outside-of-the-window")
class BelievesAnyReset(PassiveConnection):
    """A RST ends the connection, whatever its number."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        self.reset_by_peer(now)


@tcp_mutant("ack-ahead-unanswered", "TCP-ACK-11.text-that-acknowledges-too-much")
class DropsWhatAcknowledgesTooMuch(Deaf):
    """What acknowledges text that was not sent is dropped without an answer."""

    def minds(self, segment: Segment) -> bool:
        ahead = seq.before(self.send.nxt, segment.ack)
        return ahead and self.state is not State.SYN_RCVD


@tcp_mutant("reset-unchallenged", "TCP-CHAL-1.a-rst-in-the-window")
class ChallengesNoReset(PassiveConnection):
    """A RST in the window is dropped without an answer."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if segment.seq == self.recv.nxt:
            super().rst_arrives(segment, now)


@tcp_mutant("challenged-rst-ends", "TCP-CHAL-1.a-rst-in-the-window")
class ChallengesAndGivesUp(PassiveConnection):
    """A RST in the window is answered with a challenge ACK, and yet ends the connection."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        super().rst_arrives(segment, now)
        if self.state is State.ESTABLISHED and self.recv.holds(segment.seq):
            self.reset_by_peer(now)
