"""Servers that tell connections apart by fewer than all four ends (RFC 9293 section 3.10.7)."""

from __future__ import annotations

from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Segment


class _Mixes(Listener):
    """A listener that hands a SYN to a half-open connection which is not its own."""

    def is_its_own(self, pending: PassiveConnection, segment: Segment) -> bool:
        """Whether a half-open connection is taken for the SYN's."""
        raise NotImplementedError

    def syn_arrives(self, segment: Segment, now: float) -> None:
        for each in tuple(self.stack.connections.values()):
            if (
                isinstance(each, PassiveConnection)
                and each.state is State.SYN_RCVD
                and self.is_its_own(each, segment)
            ):
                each.arrive(segment, now)
                return
        super().syn_arrives(segment, now)


@mutant("ACC-2")
class PendingOnesAreTheirPorts(_Mixes):
    """A pending fast open is found by its ports: it gets the SYNs of other clients, too."""

    def is_its_own(self, pending: PassiveConnection, segment: Segment) -> bool:
        ports = (pending.local[1], pending.remote[1])
        return pending.fast_opened and ports == (segment.dport, segment.sport)


@mutant("ACC-2")
class PlainOnesAreTheirPorts(_Mixes):
    """A plain half-open connection is found by its ports: it gets other clients' fast opens."""

    def is_its_own(self, pending: PassiveConnection, segment: Segment) -> bool:
        ports = (pending.local[1], pending.remote[1])
        return not pending.fast_opened and ports == (segment.dport, segment.sport)


@mutant("ACC-2")
class PendingOnesAreTheirClients(_Mixes):
    """A pending fast open is found by its client's address and port, at whatever listener."""

    def is_its_own(self, pending: PassiveConnection, segment: Segment) -> bool:
        return pending.fast_opened and pending.remote == (segment.src, segment.sport)
