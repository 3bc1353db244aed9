"""Boxes with random rules: each seed is one box, which keeps a record of what it did.

A rule chooses packets by direction, flags, size, option, time and count, and drops, delays,
doubles, changes or answers them, or forgets their connection.
"""

from __future__ import annotations

import enum
import random
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import ClassVar

from scapy_tfo.icmp import unreachable
from scapy_tfo.middleboxes.box import Box, Out, Passed, changed, without_option
from scapy_tfo.segment import ACK, PSH, RST, Segment

PREFIX = "fuzzed-"
"""A box's name is this and its seed."""

_MOST_RULES = 3

_PROHIBITED = {4: 13, 6: 1}
"""Codes of "communication administratively prohibited" (RFC 1812 5.2.7.1, RFC 4443 3.1)."""


class Action(enum.Enum):
    """What a rule does to a packet."""

    DROP = "drops"
    DELAY = "delays"
    DOUBLE = "doubles"
    CHANGE = "changes"
    ANSWER = "answers"
    FORGET = "forgets the flow of"


class Kind(enum.Enum):
    """Packets that a rule is about, by their flags."""

    ANY = "any packet"
    SYN = "SYNs"
    SYN_ACK = "SYN-ACKs"
    DATA = "segments with data"
    BARE = "bare ACKs"
    FIN = "FINs"
    RST = "RSTs"

    def fits(self, segment: Segment) -> bool:
        match self:
            case Kind.SYN:
                return segment.is_syn
            case Kind.SYN_ACK:
                return segment.is_syn_ack
            case Kind.DATA:
                return bool(segment.payload)
            case Kind.BARE:
                return segment.flags & ~PSH == ACK and not segment.payload
            case Kind.FIN:
                return segment.is_fin
            case Kind.RST:
                return segment.is_rst
        return True


Change = Callable[[Segment], Segment]

CHANGES: dict[str, Change] = {
    "the window to 0": lambda each: changed(each, window=0),
    "the data": lambda each: changed(each, payload=bytes(one ^ 0x55 for one in each.payload)),
    "the data to its first half": lambda each: changed(
        each, payload=each.payload[: len(each.payload) // 2]
    ),
    "the option away": without_option,
    "all options away": lambda each: changed(each, options=b""),
    "PSH": lambda each: changed(each, flags=each.flags ^ PSH),
    "the urgent pointer": lambda each: changed(each, urgent=1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """onward: the direction. least: bytes of data. option: with Fast Open option, without, or
    either. after: seconds from the first packet of the run. first, every: of each connection's
    packets that fit, the number of the first that it applies to, and of how many one."""

    action: Action
    onward: bool
    kind: Kind
    least: int = 0
    option: bool | None = None
    after: float = 0.0
    first: int = 1
    every: int = 1
    late: float = 0.0
    change: str = ""
    icmp: bool = False

    def fits(self, segment: Segment, onward: bool) -> bool:
        """Whatever the time and the count."""
        return (
            onward is self.onward
            and self.kind.fits(segment)
            and len(segment.payload) >= self.least
            and self.option in (None, bool(segment.fast_open))
        )

    def __str__(self) -> str:
        words = [self.action.value]
        if self.change:
            words.append(f"({self.change})")
        words.append(self.kind.value)
        words += [f"of {self.least} bytes or more"] * bool(self.least)
        words += [] if self.option is None else ["with option" if self.option else "without option"]
        words += ["onward" if self.onward else "homeward"]
        words += [f"after {self.after:.1f} s"] * bool(self.after)
        words += [f"from number {self.first} on"] * (self.first > 1)
        words += [f"one of {self.every}"] * (self.every > 1)
        words += [f"by {self.late:.1f} s"] * bool(self.late)
        words += ["by ICMP" if self.icmp else "by RST"] * (self.action is Action.ANSWER)
        return " ".join(words)


_ONWARD = {Kind.SYN: True, Kind.SYN_ACK: False}
"""The direction of packets that go one way only."""

_WITH_TEXT = (Kind.ANY, Kind.SYN, Kind.DATA)
_WITH_OPTION = (Kind.ANY, Kind.SYN, Kind.SYN_ACK)


def draw(dice: random.Random) -> Rule:
    """A random rule. Not all of them ever apply."""
    action, kind = dice.choice(list(Action)), dice.choice(list(Kind))
    onward = dice.random() < 0.5
    least = dice.choice((0, 0, 0, 1, 100, 600, 1000, 1400, 3000))
    option = dice.choice((None, None, None, True, False))
    return Rule(
        action=action,
        onward=_ONWARD.get(kind, onward),
        kind=kind,
        least=least if kind in _WITH_TEXT else 0,
        option=option if kind in _WITH_OPTION else None,
        after=dice.choice((0.0, 0.0, 0.0, 0.2, 0.5)),
        first=dice.choice((1, 1, 1, 1, 2, 3, 10)),
        every=dice.choice((1, 1, 1, 1, 2, 5)),
        late=dice.uniform(0.3, 3.0) if action is Action.DELAY else 0.0,
        change=dice.choice(list(CHANGES)) if action is Action.CHANGE else "",
        icmp=dice.random() < 0.5,
    )


@dataclass
class Deeds:
    """How often a box did what to packets of which direction. An answer counts as a packet lost,
    and one invented in each direction that it goes."""

    lost: Counter[bool] = field(default_factory=Counter)
    delayed: Counter[bool] = field(default_factory=Counter)
    doubled: Counter[bool] = field(default_factory=Counter)
    changed: Counter[bool] = field(default_factory=Counter)
    invented: Counter[bool] = field(default_factory=Counter)

    @property
    def none(self) -> bool:
        """No packet was touched."""
        every = (self.lost, self.delayed, self.doubled, self.changed, self.invented)
        return not any(each.total() for each in every)


class FuzzedBox(Box):
    """rules: all that it does, the first that applies to a packet counts."""

    rules: ClassVar[tuple[Rule, ...]] = ()
    deeds: ClassVar[Deeds]

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._began: float | None = None
        self._counts: Counter[Hashable] = Counter()
        self._forgotten: set[Hashable] = set()

    def onward(self, segment: Segment, now: float) -> Out:
        return self._pass(segment, now, onward=True)

    def homeward(self, segment: Segment, now: float) -> Out:
        return self._pass(segment, now, onward=False)

    def _pass(self, segment: Segment, now: float, *, onward: bool) -> Out:
        self._began = now if self._began is None else self._began
        flow = frozenset({(segment.src, segment.sport), (segment.dst, segment.dport)})
        if flow in self._forgotten:
            self.deeds.lost[onward] += 1
            return []
        for number, rule in enumerate(self.rules):
            if rule.fits(segment, onward) and now - self._began >= rule.after:
                self._counts[number, flow] += 1
                past = self._counts[number, flow] - rule.first
                if past >= 0 and past % rule.every == 0:
                    return self._apply(rule, segment, flow, onward=onward)
        return [Passed(segment.to_bytes(), onward)]

    def _apply(self, rule: Rule, segment: Segment, flow: Hashable, *, onward: bool) -> Out:
        packet = segment.to_bytes()
        deeds = self.deeds
        match rule.action:
            case Action.DELAY:
                deeds.delayed[onward] += 1
                return [Passed(packet, onward, rule.late)]
            case Action.DOUBLE:
                deeds.doubled[onward] += 1
                return [Passed(packet, onward)] * 2
            case Action.CHANGE:
                other = CHANGES[rule.change](segment).to_bytes()
                deeds.changed[onward] += other != packet
                return [Passed(other, onward)]
            case Action.FORGET:
                self._forgotten.add(flow)
        deeds.lost[onward] += 1
        if rule.action is not Action.ANSWER or segment.is_rst:
            return []
        deeds.invented[not onward] += 1
        answer = _icmp(segment) if rule.icmp else _rst(segment)
        return [Passed(answer, not onward)]


def _rst(segment: Segment) -> bytes:
    """In the name of the one that the segment was for."""
    return changed(
        segment,
        src=segment.dst,
        dst=segment.src,
        sport=segment.dport,
        dport=segment.sport,
        seq=segment.ack,
        ack=segment.end,
        flags=RST | ACK,
        window=0,
        options=b"",
        payload=b"",
    ).to_bytes()


def _icmp(segment: Segment) -> bytes:
    return unreachable(segment.to_bytes(), code=_PROHIBITED[segment.src.version]).to_bytes()


def fuzzed(seed: int) -> type[FuzzedBox]:
    """The box of that seed, with a new record of its deeds."""
    dice = random.Random(seed)
    rules = tuple(draw(dice) for _ in range(dice.randint(1, _MOST_RULES)))
    summary = "; ".join(map(str, rules))
    fields = {"name": f"{PREFIX}{seed}", "summary": summary, "rules": rules, "deeds": Deeds()}
    return type(f"Fuzzed{seed}", (FuzzedBox,), fields)
