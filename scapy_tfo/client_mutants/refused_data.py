"""Clients that lose, double or delay SYN data when it is refused (RFC 7413 4.2.2)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.options import Offer
from scapy_tfo.segment import ACK, Segment


class _Answered(ActiveConnection):
    """It knows how much of its data the SYN-ACK acknowledged. taken: in bytes."""

    taken = 0

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        self.taken = seq.distance(self.send.iss, segment.ack) - 1
        super().syn_ack_arrives(segment, now)

    @property
    def refused_all(self) -> bool:
        return self.syn_data > 0 and self.taken == 0

    @property
    def refused_part(self) -> bool:
        return 0 < self.taken < self.syn_data

    @property
    def refused_some(self) -> bool:
        return self.taken < self.syn_data


@client_mutant("CLI-6")
class BareAckComesFirst(_Answered):
    """Refused data comes right behind a bare ACK, and not with it."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        super().syn_ack_arrives(segment, now)
        if self.refused_all:
            self.send_ack(now)


@client_mutant("CLI-6", bug="LXC-09")
class RefusedDataWaitsForTheTimer(_Answered):
    """Refused data is sent again by the retransmission timer only."""

    def resend_refused(self) -> None:
        self.send.point = self.send.nxt if self.refused_all else self.send.floor


@client_mutant("CLI-6")
class RefusedDataComesInPieces(_Answered):
    """With the first ACK goes the first byte of refused data only."""

    def flush(self, now: float) -> None:
        first = self.refused_all and self.send.point == seq.add(self.send.iss, 1)
        size = self.send.mss
        if first and self.is_synchronized:
            self.send.mss = 1
            chunk = self.send.next_chunk()
            if chunk:
                self.send_chunk(chunk, now)
            self.send.mss = size
        super().flush(now)


@client_mutant("CLI-6a")
class RefusedDataIsLost(_Answered):
    """Refused data is never sent again, as if it had been acknowledged."""

    def resend_refused(self) -> None:
        if self.refused_all:
            self.send.acknowledged(self.send.nxt, self.handshake_sent_at)


@client_mutant("CLI-6a")
class RefusedDataIsDoubled(_Answered):
    """Refused data is sent again, and once more behind all that follows."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_all:
            self.send.data += self.send.data[: self.syn_data]


@client_mutant("CLI-6a", bug="XNU-02")
class AcceptedDataIsDoubled(_Answered):
    """Data that the SYN-ACK acknowledged is sent once more behind it."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        taken = seq.distance(self.send.iss, segment.ack) - 1
        if taken > 0 and taken == self.syn_data:
            self.send.data[taken:taken] = self.send.data[:taken]
        super().syn_ack_arrives(segment, now)


@client_mutant("CLI-6a")
class AcceptedDataComesAgain(ActiveConnection):
    """Data that the SYN-ACK acknowledged is sent again, under its numbers."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        taken = bytes(self.send.data[: max(seq.distance(self.send.iss, segment.ack) - 1, 0)])
        super().syn_ack_arrives(segment, now)
        if taken:
            self.transmit(seq.add(self.send.iss, 1), ACK, now, taken)


@client_mutant("CLI-15")
class PartIsSentAgainWithTheRest(ActiveConnection):
    """Where a part of the data was acknowledged, all of it is sent again, under its numbers."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        all_of_it = bytes(self.send.data[: self.syn_data])
        part = 0 < seq.distance(self.send.iss, segment.ack) - 1 < self.syn_data
        super().syn_ack_arrives(segment, now)
        if part:
            self.transmit(seq.add(self.send.iss, 1), ACK, now, all_of_it)
            self.send.point = self.send.nxt


@client_mutant("CLI-6a")
class RefusedDataIsChanged(_Answered):
    """Refused data is sent again with its first byte turned round."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_all:
            self.send.data[0] ^= 0xFF


@client_mutant("CLI-6a")
class RefusalLosesTheRest(_Answered):
    """After a refusal what did not fit into the SYN is never sent."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_all:
            del self.send.data[self.syn_data :]


@client_mutant("CLI-6a")
class AcceptanceLosesTheRest(_Answered):
    """After an acceptance what did not fit into the SYN is never sent."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.syn_data and not self.refused_some:
            self.send.data.clear()


@client_mutant("CLI-15")
class PartIsTakenForAll(_Answered):
    """A SYN-ACK for a part of the data is taken for one of all, and the rest is lost."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_part:
            self.send.acknowledged(self.send.nxt, self.handshake_sent_at)


@client_mutant("CLI-15")
class PartIsTakenForNone(_Answered):
    """A SYN-ACK for a part of the data makes it send all of the data again."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        all_of_it = bytes(self.send.data[: self.syn_data])
        part = 0 < seq.distance(self.send.iss, segment.ack) - 1 < self.syn_data
        super().syn_ack_arrives(segment, now)
        if part:
            self.send.data[: len(all_of_it) - self.taken] = all_of_it


@client_mutant("CLI-15")
class PartIsRefused(ActiveConnection):
    """A SYN-ACK for a part of the data is refused with a RST."""

    def completes_handshake(self, ack: int) -> bool:
        past = seq.distance(self.send.iss, ack) - 1
        return super().completes_handshake(ack) and past in (0, self.syn_data)


@client_mutant("CLI-15")
class PartIsIgnored(ActiveConnection):
    """A SYN-ACK for a part of the data is dropped without a word."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        past = seq.distance(self.send.iss, segment.ack) - 1
        if past in (0, self.syn_data):
            super().syn_ack_arrives(segment, now)


@client_mutant("CLI-15")
class AckBeyondTheDataIsTaken(ActiveConnection):
    """A SYN-ACK for more than was sent is taken for one of all."""

    def answer_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_syn_ack and seq.before(self.send.nxt, segment.ack):
            segment = replace(segment, ack=self.send.nxt)
        super().answer_arrives(segment, now)


@client_mutant("CLI-15")
class AckBeyondTheDataIsIgnored(ActiveConnection):
    """A SYN-ACK for more than was sent is dropped, and no RST answers it."""

    def refuse_ack(self, ack: int) -> None:
        if not seq.before(self.send.nxt, ack):
            super().refuse_ack(ack)


@client_mutant("CLI-15")
class AckBeyondTheDataEndsTheConnection(ActiveConnection):
    """A SYN-ACK for more than was sent is refused, and the connection given up with it."""

    def answer_arrives(self, segment: Segment, now: float) -> None:
        super().answer_arrives(segment, now)
        if segment.is_syn_ack and seq.before(self.send.nxt, segment.ack):
            self.fail("ECONNRESET", now)


@client_mutant("CLI-15")
class AckOfNothingIsTaken(ActiveConnection):
    """A SYN-ACK that acknowledges not even the SYN is taken for one of the SYN."""

    def answer_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_syn_ack and segment.ack == self.send.iss:
            segment = replace(segment, ack=seq.add(self.send.iss, 1))
        super().answer_arrives(segment, now)


@client_mutant("CLI-21")
class LastByteIsForgotten(_Answered):
    """Where all but the last byte of the data was acknowledged, that byte is never sent."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.syn_data > 1 and self.taken == self.syn_data - 1:
            self.send.acknowledged(self.send.nxt, self.handshake_sent_at)


@client_mutant("CLI-21")
class SmallerMssLosesTheTail(_Answered):
    """Refused data that is more than the new MSS is cut to it."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_some:
            del self.send.data[self.send.mss : self.syn_data - self.taken]
            if seq.before(self.send.end, self.send.nxt):
                self.send.nxt = self.send.end


@client_mutant("CLI-21")
class SmallerMssIsOverlooked(ActiveConnection):
    """Refused data goes out again in segments of the cached MSS, whatever the new one."""

    def agree(self, offer: Offer) -> None:
        known = self.cached.mss
        super().agree(offer)
        if self.syn_data and known is not None:
            self.mss_offered = max(self.mss_offered, known)
            self.resize()


@client_mutant("CLI-21")
class SmallerMssIsExceeded(ActiveConnection):
    """Behind a fast open, segments hold as much as the server's MSS and 40 bytes more."""

    def agree(self, offer: Offer) -> None:
        super().agree(offer)
        if self.syn_data:
            self.mss_offered += 40
            self.resize()


@client_mutant("CLI-21a", bug="LXC-01")
class OneSegmentIsSentAgain(_Answered):
    """Of refused data one segment comes again, and the rest waits for the timer."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_some:
            self.send.cwnd = self.send.mss


@client_mutant("CLI-21a")
class RestOfAPartWaitsForTheTimer(_Answered):
    """Where a part of the data was acknowledged, the rest waits for the timer."""

    def resend_refused(self) -> None:
        self.send.point = self.send.nxt if self.refused_part else self.send.floor


@client_mutant("CLI-21a", bug="LXC-02")
class RefusalIsTakenForLoss(_Answered):
    """A refusal leaves the connection in loss recovery, where duplicate ACKs bring nothing."""

    def resend_refused(self) -> None:
        super().resend_refused()
        if self.refused_some:
            self.send.cwnd = self.send.ssthresh = 2 * self.send.mss
            self.send._recovering = True
            self.send._recover = seq.add(self.send.iss, 1 << 30)
