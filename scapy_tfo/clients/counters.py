"""Compares a client kernel's count of its fast opens with the packets on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scapy_tfo import seq
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.segment import ACK, SYN

TAKEN, NOT_TAKEN = "TCPFastOpenActive", "TCPFastOpenActiveFail"
"""Linux raises the one for a SYN whose data was acknowledged whole, the other where it was not."""


@dataclass(slots=True)
class Balance:
    """What a client must have counted, as the least and the most of each counter.

    A connection whose SYN came twice may count as one that was not taken besides (older kernels
    do so), and so may one that lost packets later: Linux counts the second timeout of a connection
    with SYN data as a path that swallows them (tcp_fastopen_active_detect_blackhole). One whose
    SYN-ACK the client has not acknowledged may count or not. One whose SYN crossed ours, or got no
    answer, does not count.
    """

    least: dict[str, int]
    most: dict[str, int]

    @classmethod
    def of(cls, connections: Iterable[Incoming]) -> Balance:
        """From all connections of a run."""
        found = cls(dict.fromkeys((TAKEN, NOT_TAKEN), 0), dict.fromkeys((TAKEN, NOT_TAKEN), 0))
        for each in connections:
            if each.syns and each.first.payload:
                found._note(each)
        return found

    def _note(self, connection: Incoming) -> None:
        if len(connection.syns) > 1:
            self.most[NOT_TAKEN] += 1
        if connection.lost:
            self.most[NOT_TAKEN] += 1
        if connection.crossed or not connection.has_answered:
            return
        whole = connection.taken == len(connection.first.payload)
        name = TAKEN if whole else NOT_TAKEN
        self.least[name] += _is_acknowledged(connection)
        self.most[name] += 1

    def weigh(self, before: Mapping[str, int], after: Mapping[str, int]) -> tuple[str, bool]:
        """What was counted, in words, and whether that agrees; nothing where nobody counts."""
        names = [each for each in self.least if each in before and each in after]
        rose = {each: after[each] - before[each] for each in names}
        told = ", ".join(
            f"{each} {rose[each]} ({self.least[each]} to {self.most[each]} on the wire)"
            for each in names
        )
        return told, all(self.least[each] <= rose[each] <= self.most[each] for each in names)


def _is_acknowledged(connection: Incoming) -> bool:
    wanted = seq.add(connection.isn, 1)
    return any(
        each.flags & ACK
        and not each.flags & SYN
        and not each.is_rst
        and not seq.before(each.ack, wanted)
        for each in connection.heard
    )
