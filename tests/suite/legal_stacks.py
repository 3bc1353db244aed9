"""Legal stacks that ask more of their peer than the reference does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference.core import Ends
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import FIN, RST, SYN, Segment

FAR = 1 << 16
"""Numbers that no window allows."""
SET_UP = 0.3
"""Seconds from the end of the handshake until a proxy has one with its server."""


class _BehindAProxy(Stack):
    """Answers for a server that it reaches only once the client's handshake is over.

    What is signed it leaves alone: no proxy has the key.
    """

    offers = 65535

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._begun: set[Ends] = set()
        self._ready: dict[Ends, float] = {}

    def send(self, segment: Segment) -> None:
        if segment.option(opt.MD5) is not None:
            super().send(segment)
            return
        ends = (segment.src, segment.sport, segment.dst, segment.dport)
        if segment.is_syn_ack and ends not in self._ready:
            self._begun.add(ends)
        waits = ends in self._begun or ends in self._ready
        super().send(
            replace(segment, window=min(segment.window, self.offers)) if waits else segment
        )

    def segment_arrives(self, segment: Segment, now: float) -> None:
        if segment.option(opt.MD5) is not None:
            super().segment_arrives(segment, now)
            return
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        if segment.flags & (SYN | RST):
            self._begun.discard(ends)
            self._ready.pop(ends, None)
            super().segment_arrives(segment, now)
            return
        connection = self.connections.get(ends)
        nxt = segment.seq if connection is None else connection.recv.nxt
        far = abs(seq.distance(nxt, segment.seq)) > FAR
        if (ends in self._begun or ends in self._ready) and not far:
            segment = replace(segment, seq=nxt, payload=b"", flags=segment.flags & ~FIN)
        super().segment_arrives(segment, now)
        if ends in self._begun and connection and connection.state is not State.SYN_RCVD:
            self._begun.discard(ends)
            self._ready[ends] = now + SET_UP

    def deadline(self) -> float | None:
        every = [super().deadline(), *self._ready.values()]
        return min((each for each in every if each is not None), default=None)

    def on_timer(self, now: float) -> None:
        for ends in [ends for ends, when in self._ready.items() if when <= now]:
            del self._ready[ends]
            connection = self.connections.get(ends)
            if connection is not None and not self.offers:
                connection.send_ack(now)
        super().on_timer(now)


class OpensItsWindowLater(_BehindAProxy):
    """The SYN-ACK has a window of zero, as nft synproxy's, and an ACK opens it later."""

    offers = 0


class DropsWhatComesTooSoon(_BehindAProxy):
    """The window is open, and text that comes before the server can be reached is dropped."""


class NeverOpensItsWindow(OpensItsWindowLater):
    """Not legal: the window stays closed for good."""

    def deadline(self) -> float | None:
        return Stack.deadline(self)

    def on_timer(self, now: float) -> None:
        Stack.on_timer(self, now)


class _TakesNoTextWithTheAck(PassiveConnection):
    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if not self.was_pending:
            super().text_arrives(segment, start, now)

    def other_arrives(self, segment: Segment, now: float) -> None:
        self.was_pending = self.state is State.SYN_RCVD
        super().other_arrives(segment, now)


class DropsTextOnTheAck(Stack):
    """Not legal: text and FIN of the segment that ends the handshake are never taken."""

    connection_class = _TakesNoTextWithTheAck


class _KeepsNothingEarly(ReceiveSide):
    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        return b"" if seq.before(self.nxt, start) else super().take(start, payload, fin)


class _DropsText(PassiveConnection):
    receive_side_class = _KeepsNothingEarly


class KeepsNothingOutOfOrder(Stack):
    """Text past a gap is dropped and acknowledged by a duplicate (RFC 9293 SHLD-31 is a SHOULD)."""

    connection_class = _DropsText


LEGAL: dict[str, tuple[type[Stack], Settings]] = {
    "opens its window later": (OpensItsWindowLater, Settings()),
    "drops what comes too soon": (DropsWhatComesTooSoon, Settings()),
    "keeps nothing out of order": (KeepsNothingOutOfOrder, Settings()),
    "window of 600": (Stack, Settings(receive_window=600, window_scaling=False)),
    "mtu of 400": (Stack, Settings(mtu=400)),
}
