"""A connection that was captured at both ends, and what became of its packets."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.capture.comparing.fates import DROPPED, NOT_CAPTURED, Clocks, Fate, Matched


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """fates: of all its packets. client: its address. outside: that which the server sees in its
    place, None where the server's capture has nothing of it. port: the server's."""

    client: str
    outside: str | None
    port: int
    fates: tuple[Fate, ...]
    clocks: Clocks

    @classmethod
    def of(cls, matched: Matched, clocks: Clocks) -> Talk:
        """With the fates of its packets."""
        there = matched.there
        return cls(
            client=str(matched.here.client.address),
            outside=str(there.client.address) if there is not None else None,
            port=matched.here.server.port,
            fates=matched.fates(clocks),
            clocks=clocks,
        )

    def at(self, fate: Fate) -> int:
        """When a packet was sent, or came where nobody sent it: ns, on the client's clock."""
        is_here = fate.to_server == (fate.sent is not None)
        return fate.when if is_here else fate.when - (self.clocks.to_server or 0)

    @property
    def has_data(self) -> bool:
        """Whether one of its SYNs has data."""
        return any(each.what == "SYN" and each.size for each in self.fates)

    @property
    def passed_data_at(self) -> int | None:
        """When the first SYN with data was sent that arrived."""
        times = [
            self.at(each)
            for each in self.fates
            if each.what == "SYN" and each.size and None not in (each.sent, each.arrived)
        ]
        return min(times, default=None)

    def after(self, when: int, *, within: int | None = None) -> list[Fate]:
        """Packets that were sent later, of which it is known what became."""
        return [
            each
            for each in self.fates
            if each.sent is not None
            and each.kind != NOT_CAPTURED
            and when < self.at(each)
            and (within is None or self.at(each) < when + within)
        ]

    def has_passed(self, what: str) -> bool:
        """Whether such a packet arrived."""
        return any(
            each.what == what and each.arrived is not None and each.kind != DROPPED
            for each in self.fates
        )
