"""The reference as the client of a schedule."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.explore.ends.opening import rewritten
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import PSH, RST, SYN, Address, Segment


class _Active(ActiveConnection):
    """The one connection of a client, which has its timestamps and its MSS."""

    def open(self, data: bytes, now: float) -> None:
        if isinstance(self.stack, Client) and self.stack.clock is not None:
            self.set_clock(self.stack.clock, now)
        super().open(data, now)

    def syn_options(self, now: float) -> list[opt.RawOption]:
        made = super().syn_options(now)
        if not isinstance(self.stack, Client) or not self.stack.offers:
            return made
        own = opt.mss(self.stack.offers)
        return [own if each.kind == opt.MSS else each for each in made]


class Client(Stack):
    """The reference as a client that sends segments, not bytes.

    port: the one that it connects from. instead: what stands in its SYN for the Fast Open option.
    clock: the TSval of its first segment, None for any. offers: the MSS that it offers, in bytes,
    0 for that of its link. pushes: whether each segment behind the SYN has PSH, None for those that
    hold the last of what was written. later: an option for each segment behind the SYN, or b"".
    """

    active_class = _Active
    port = 0
    instead: bytes | None = None
    clock: int | None = None
    offers = 0
    pushes: bool | None = None
    later = b""

    def __init__(self, address: Address, settings: Settings, seed: int) -> None:
        super().__init__([address], settings, seed=seed)
        self.outgoing: list[Segment] = []

    def send(self, segment: Segment) -> None:
        if self._ip_fields is not None:
            segment = self._ip_fields.dress(segment)
        if segment.flags & SYN:
            if self.instead is not None and segment.fast_open:
                segment = self._with_instead(segment, self.instead)
        else:
            if self.pushes is not None and not segment.flags & RST:
                flags = segment.flags | PSH if self.pushes else segment.flags & ~PSH
                segment = replace(segment, flags=flags)
            if self.later:
                segment = replace(segment, options=rewritten(segment.options, self.later))
        self.outgoing.append(segment)

    def _with_instead(self, syn: Segment, instead: bytes) -> Segment:
        """A SYN with other options, as it was where the link does not carry that."""
        made = replace(syn, options=rewritten(syn.options, instead))
        return made if len(made.to_bytes()) <= self.settings.mtu else syn

    def _free_port(self, _source: Address, _destination: Address, _port: int) -> int:
        return self.port
