"""One link shared by many conversations: hands each packet to its flow, and keeps the capture.

It also holds the rules of TCP against what the target sends, whatever a case is about.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import Broken, Conduct, Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.segment import Address, MalformedPacketError, Segment
from scapy_tfo.suite.limits import Bounds
from scapy_tfo.suite.outcome import BROKEN, broken
from scapy_tfo.suite.result import Breach, CapturedPacket, label_of
from scapy_tfo.wire.link import Link

Key = tuple[Address, int, Address, int]
"""Local address and port, remote address and port."""


class Heard(Protocol):
    """Who a conversation's packets are handed to. owner: what the capture names it. number: of the
    packet there, counted from 1; 0 where the capture was full."""

    owner: str

    def hear(self, segment: Segment, number: int) -> None: ...

    def hear_icmp(self, error: IcmpError, number: int) -> None: ...


_BEAT, _STALL = 0.02, 0.05
"""Seconds between looks at the clock, and how late one is where the process was held up."""

_KEPT = 5
"""Breaches of one rule by one case that are kept."""


class Watched(Protocol):
    """A conversation. owner: the case, as the capture names it. numbers: of its packets there."""

    owner: str
    numbers: list[int]

    @property
    def name(self) -> str: ...


class Watch:
    """The rules, and what was found, over all conversations of a run.

    breaches: in the order in which they came, the first ones of each rule and case. ordered, whole,
    grace: as in `History`. notes: what broke in the rules themselves. stalled_at: when this process
    last had no time to read what came, so that times before it say little. met: the 4-tuples that
    there were. opens: it is the other side that connects. active: False where something on the way
    changes packets, so that nobody can tell whose they are.
    """

    def __init__(self) -> None:
        self.ordered = False
        self.whole = True
        self.opens = False
        self.active = True
        self.grace = 0.0
        self._population = Population()
        self.stalled_at = -math.inf
        self._beat: float | None = None
        self.tally = Tally()
        self.breaches: list[Breach] = []
        self.notes: list[str] = []
        self.met: set[Key] = set()
        self._found: Counter[tuple[str, str]] = Counter()

    async def keep_time(self, now: Callable[[], float]) -> None:
        """Notice when this process is held up; ends by being cancelled. now: the link's clock."""
        while True:
            self._notice(now())
            self._beat = now()
            await asyncio.sleep(_BEAT)

    def _notice(self, now: float) -> None:
        if self._beat is not None and now - self._beat > _BEAT + _STALL:
            self.stalled_at = now

    def has_met(self, key: Key) -> bool:
        """Whether there was a conversation on a 4-tuple."""
        return key in self.met

    def begin(self, key: Key, *, steady: bool = False) -> Conduct:
        """A conversation on a 4-tuple begins. steady: as in `History`."""
        history = History(
            key,
            self._population,
            ordered=self.ordered,
            whole=self.whole,
            steady=steady,
            grace=self.grace,
            opens=self.opens,
        )
        # What comes may belong to the conversation before it, and answer what was sent there.
        history.mixed = key in self.met
        history.complete = not (history.mixed and self.opens)
        self.met.add(key)
        return Conduct(history, self.tally)

    def came(
        self, flow: Watched, conduct: Conduct, segment: Segment, number: int, at: float
    ) -> None:
        """The target sent a segment. number: of the packet in the capture. at: seconds."""
        if not self.active:
            return
        self._notice(at)
        conduct.history.stalled_at = self.stalled_at
        self._note(flow, segment.src.version, lambda: conduct.came(segment, at, number))

    def ended(self, flow: Watched, conduct: Conduct, family: int, at: float) -> None:
        """A conversation is over: what was owed by now has not come. at: seconds."""
        if self.opens:
            # What a client owes, its application decides.
            return
        self._notice(at)
        conduct.history.stalled_at = self.stalled_at
        packet = flow.numbers[-1] if flow.numbers else 0
        self._note(flow, family, lambda: conduct.waited(at, packet))

    def _note(self, flow: Watched, family: int, judge: Callable[[], Sequence[Broken]]) -> None:
        try:
            found = judge()
        except BROKEN as error:
            # The case goes on: what it is about has nothing to do with it.
            if not self.notes:
                self.notes.append(f"rules of TCP: {broken(error).reason}")
            return
        for each in found:
            self._found[each.rule, flow.owner] += 1
            if self._found[each.rule, flow.owner] > _KEPT:
                continue
            self.breaches.append(
                Breach(
                    rule=each.rule,
                    owner=flow.owner,
                    family=family,
                    flow=flow.name,
                    packet=each.packet,
                    expected=each.breach.expected,
                    actual=each.breach.actual,
                )
            )


class Switchboard:
    """Sends for many flows over one link, and keeps every packet in order, within `bounds`.

    capture: False keeps none, and only numbers them. watch: what sees every conversation. heard_at:
    when the segment came that is handed in, by the link's clock.
    """

    def __init__(self, link: Link, *, seed: int = 0, capture: bool = True) -> None:
        self.link = link
        self._capture = capture
        self._count = 0
        self.packets: list[CapturedPacket] = []
        self.bounds = Bounds()
        self.watch = Watch()
        self.heard_at = 0.0
        self.random = random.Random(seed)
        self._flows: dict[Key, tuple[Heard, float]] = {}
        self._announced: dict[str, list[str]] = {}
        self._first: dict[str, int] = {}
        link.start(self._receive)

    def open(self, key: Key, heard: Heard) -> None:
        """Hand everything from that remote address and port to `heard`, as it arrives from now on.

        What waited in a socket's buffer belongs to an earlier flow with the same ports.
        """
        self._flows[key] = heard, self.link.now()

    def has_met(self, key: Key) -> bool:
        """Whether a 4-tuple had a conversation before."""
        return self.watch.has_met(key)

    def close(self, key: Key) -> None:
        """Stop handing in; later packets of the flow are kept in the capture only."""
        self._flows.pop(key, None)
        self.bounds.forget(key)

    @property
    def leaves_at(self) -> float:
        """When what is sent now leaves, by the link's clock."""
        return self.link.now() + self.link.lag

    def send(self, data: bytes, owner: str, comment: str = "") -> int:
        """Send an IP packet for a conversation; its number in the capture."""
        when = self.leaves_at
        comment = "; ".join([*self._announced.pop(owner, ()), *filter(None, [comment])])
        number = self._keep(data, outbound=True, when=when, owner=owner, comment=comment)
        self.link.send(data)
        return number

    def announce(self, owner: str, comment: str) -> None:
        """Write a comment beside the packet that is sent next for a conversation."""
        self._announced.setdefault(owner, []).append(comment)

    def note(self, numbers: tuple[int, ...], comment: str) -> None:
        """Write a comment beside packets already captured."""
        for number in filter(None, numbers if self._capture else ()):
            kept = self.packets[number - 1]
            self.packets[number - 1] = CapturedPacket(
                number=number,
                when=kept.when,
                outbound=kept.outbound,
                data=kept.data,
                comment=f"{kept.comment}; {comment}",
            )

    def conclude(self, label: str, numbers: tuple[int, ...], comment: str) -> None:
        """Write a comment beside these packets of a case or, without any, beside its first one.

        label: of the case, as in `label_of`.
        """
        first = self._first.get(label)
        self.note(numbers or (() if first is None else (first,)), comment)

    def _keep(self, data: bytes, *, outbound: bool, when: float, owner: str, comment: str) -> int:
        self._count = number = self._count + 1
        if not self._capture:
            return number
        verb = "sent by" if outbound else "for"
        text = f"{verb} {owner}" + (f": {comment}" if comment else "")
        self._first.setdefault(label_of(text), number)
        self.packets.append(
            CapturedPacket(number=number, when=when, outbound=outbound, data=data, comment=text)
        )
        return number

    def _receive(self, data: bytes, when: float) -> None:
        error: IcmpError | None = None
        segment: Segment | None = None
        try:
            segment = Segment.read_back(data)
        except MalformedPacketError:
            error = IcmpError.from_bytes(data)
            key = _quoted_flow(error) if error is not None else None
            if key is None:
                return
        else:
            if segment.checksum is not None:
                return
            key = (segment.dst, segment.dport, segment.src, segment.sport)
        heard = self._flow(key, when, segment)
        if heard is not None and not self.bounds.hands(key, heard.owner):
            heard = None
        owner = heard.owner if heard else "no case (its flow is closed)"
        number = 0
        if not self._capture or self.bounds.keeps(len(data)):
            number = self._keep(data, outbound=False, when=when, owner=owner, comment="")
        if heard is None:
            return
        if error is not None:
            heard.hear_icmp(error, number)
        elif segment is not None:
            self.heard_at = when
            heard.hear(segment, number)

    def _flow(self, key: Key, when: float, _segment: Segment | None) -> Heard | None:
        """Who hears a segment; _segment: None for an ICMP error that quotes the key."""
        heard, since = self._flows.get(key, (None, 0.0))
        return heard if when >= since else None


def _quoted_flow(error: IcmpError) -> Key | None:
    quoted = error.quoted
    head = (quoted[0] & 15) * 4 if quoted and quoted[0] >> 4 == 4 else 40
    if len(quoted) < head + 4:
        return None
    spans = (quoted[12:16], quoted[16:20]) if head != 40 else (quoted[8:24], quoted[24:40])
    build = type(error.src)
    local, remote = build(spans[0]), build(spans[1])
    ports = quoted[head : head + 4]
    return local, int.from_bytes(ports[:2], "big"), remote, int.from_bytes(ports[2:], "big")
