"""Servers that overlook control bits, checksums and closed ports (RFC 9293 3.1 and 3.10.7)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG, Segment


@mutant("ACC-12")
class RstBesideSynIsNotSeen(Listener):
    """A SYN with RST opens a connection."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_rst and segment.is_syn:
            self.syn_arrives(segment, now)
        else:
            super().arrive(segment, now)


@mutant("ACC-12")
class AckBesideSynIsNotSeen(Listener):
    """A SYN with ACK opens a connection."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_syn_ack and not segment.is_rst:
            self.syn_arrives(segment, now)
        else:
            super().arrive(segment, now)


@mutant("ACC-12")
class RstAndAckBesideSynAreNotSeen(Listener):
    """A SYN with RST and ACK opens a connection."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_syn_ack and segment.is_rst:
            self.syn_arrives(segment, now)
        else:
            super().arrive(segment, now)


@mutant("ACC-12")
class EveryFlagIsASyn(Listener):
    """A segment with every flag set opens a connection."""

    every = SYN | FIN | RST | PSH | ACK | URG

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.flags & self.every == self.every:
            self.syn_arrives(segment, now)
        else:
            super().arrive(segment, now)


@mutant("ACC-12")
class RstBesideSynHoldsThePorts(Listener):
    """After a SYN with RST the next SYN from those ports is dropped."""

    held: tuple[object, int] | None = None

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_rst and segment.is_syn:
            self.held = (segment.src, segment.sport)
        if (segment.src, segment.sport) != self.held:
            super().arrive(segment, now)


@mutant("ACC-12")
class RstBesideSynDeafensTheListener(Listener):
    """After a SYN with RST the listener takes nothing any more."""

    deaf = False

    def arrive(self, segment: Segment, now: float) -> None:
        self.deaf = self.deaf or bool(segment.is_rst and segment.is_syn)
        if not self.deaf:
            super().arrive(segment, now)


@mutant("ACC-12", also=("AFT-2",), settings=Settings(accept_syn_fin=True))
class FinBesideSynIsForgotten(PassiveConnection):
    """A FIN in a fast open is acknowledged, and the end of the stream never told."""

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(replace(syn, flags=syn.flags & ~FIN))
        self.recv.nxt = seq.add(self.recv.nxt, int(syn.is_fin))


@mutant("ACC-12", also=("AFT-2",), settings=Settings(accept_syn_fin=True))
class FinBesideSynDropsTheData(PassiveConnection):
    """A fast open with FIN ends the stream before its data."""

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(replace(syn, payload=b"") if syn.is_fin else syn)


@mutant("ACC-12", also=("ACC-3", "AFT-2"), settings=Settings(accept_syn_fin=True))
class FinOfARefusalIsTaken(PassiveConnection):
    """A wrong cookie's data is dropped, and its FIN taken: acknowledged behind nothing."""

    def open_slowly(self, syn: Segment, now: float) -> None:
        if syn.is_fin and syn.payload:
            self.recv.finished = True
            self.recv.nxt = seq.add(self.recv.nxt, 1)
        super().open_slowly(syn, now)


@mutant("ACC-12a")
class ClosedPortForgetsTheData(Stack):
    """The RST of a closed port acknowledges the SYN only."""

    def refuse(self, segment: Segment) -> None:
        super().refuse(replace(segment, payload=b"") if segment.is_syn else segment)


@mutant("ACC-12a")
class ClosedPortIsSilent(Stack):
    """A closed port does not answer a fast open."""

    def refuse(self, segment: Segment) -> None:
        if not (segment.is_syn and segment.fast_open):
            super().refuse(segment)


@mutant("ACC-12a")
class ClosedPortResetsWithoutAck(Stack):
    """The RST of a closed port has sequence number zero and acknowledges nothing."""

    def refuse(self, segment: Segment) -> None:
        if segment.is_syn:
            reset = Segment(
                src=segment.dst,
                dst=segment.src,
                sport=segment.dport,
                dport=segment.sport,
                flags=RST,
            )
            self.send(reset)
        else:
            super().refuse(segment)


@mutant("ACC-12a")
class ClosedPortKeepsItsListener(Listener):
    """A listener that was closed goes on taking fast opens."""

    def close(self, now: float) -> None:
        """Nothing is closed."""


@mutant("ACC-14")
class IgnoresTheChecksum(Stack):
    """A wrong checksum is not noticed."""

    def is_sound(self, segment: Segment) -> bool:
        return super().is_sound(replace(segment, checksum=None))


@mutant("ACC-14")
class CookieOutweighsTheChecksum(Stack):
    """The checksum is not looked at where a cookie came."""

    def is_sound(self, segment: Segment) -> bool:
        return super().is_sound(replace(segment, checksum=None) if segment.cookie else segment)


@mutant("ACC-10", also=("ACC-9",))
class UrgentDataInTheSynIsSkipped(PassiveConnection):
    """SYN data with URG is acknowledged, and its first byte left out."""

    urgent = False

    def take_syn_data(self, syn: Segment) -> None:
        self.urgent = bool(syn.flags & URG)
        super().take_syn_data(syn)
        self.urgent = False

    def deliver(self, data: bytes) -> None:
        super().deliver(data[1:] if self.urgent else data)


@mutant("ACC-10", also=("ACC-2", "ACC-9"))
class EcnSetupLosesTheData(PassiveConnection):
    """The data of a fast open that also sets up ECN is acknowledged, and lost."""

    ecn = False

    def take_syn_data(self, syn: Segment) -> None:
        self.ecn = syn.flags & (ECE | CWR) == ECE | CWR
        super().take_syn_data(syn)
        self.ecn = False

    def deliver(self, data: bytes) -> None:
        super().deliver(b"" if self.ecn else data)


@mutant("ACC-10", also=("ACC-2",))
class ReservedBitsDropTheSyn(Listener):
    """A SYN with reserved bits is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if not segment.reserved:
            super().syn_arrives(segment, now)
