"""What a client does when its SYN is answered (RFC 7413 4.2.2, RFC 9293 3.10.7.3)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.client_variants.registry import client_variant
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Segment


class _AcknowledgesFirst(ActiveConnection):
    """Some SYN-ACKs it answers with a segment that has no data, and sends that behind it."""

    def does_so(self, refused: bool) -> bool:
        """Whether it does so here. refused: the SYN-ACK left data of the SYN unacknowledged."""
        return False

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        accepted = seq.distance(self.send.iss, segment.ack) - 1
        super().syn_ack_arrives(segment, now)
        if self.is_synchronized and self.does_so(accepted < self.syn_data):
            self.send_ack(now)


@client_variant({"client-data-in-ack": "a segment behind it"})
class AcknowledgesBeforeRefusedData(_AcknowledgesFirst):
    """Data that the SYN-ACK refused follows the handshake's ACK."""

    def does_so(self, refused: bool) -> bool:
        return refused or super().does_so(refused)


@client_variant({"client-ack-with-data": "no"})
class AcknowledgesBeforeNewData(_AcknowledgesFirst):
    """Data that was not in the SYN follows the handshake's ACK."""

    def does_so(self, refused: bool) -> bool:
        return not refused or super().does_so(refused)


@client_variant({"client-soft-error": "yes"})
class SoftErrorsEndTheAttempt(ActiveConnection):
    """Any ICMP unreachable in answer to a SYN ends the connection."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard or self.state is State.SYN_SENT, now=now)


@client_variant({"client-rst-check": "the exact one"})
class BelievesTheExactRst(ActiveConnection):
    """A RST in answer to a SYN counts only if its sequence number is zero, which is all that such
    a RST can know."""

    def answer_arrives(self, segment: Segment, now: float) -> None:
        if not (segment.is_rst and segment.seq):
            super().answer_arrives(segment, now)
