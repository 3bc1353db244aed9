"""Matches the packets that one end sent with those that arrived at the other.

Addresses and ports are not compared: a translator changes them, and is told by other means.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from scapy_tfo.icmp import IcmpError
from scapy_tfo.path.account import SLACK
from scapy_tfo.path.flows import FIELDS, Flows, Seen, clocks, near_ends, values, when
from scapy_tfo.path.observation import Observations, Probe, Trial
from scapy_tfo.segment import FIN, RST, Segment

_EARLY = 0.002
"""Seconds by which a packet may seem faster than the fastest: clocks are read one after another."""

_UNDER_WAY = 3.2
"""Seconds before an end stops listening in which a packet that did not come may still have: what
is later by more is as good as lost."""

_ALIKE = 4
"""Fields that two packets share, of seven, if one is what became of the other."""


class Effect(enum.Enum):
    """What a path does to a packet, or of its own accord."""

    LOST = "lost"
    CHANGED = "changed"
    DELAYED = "delayed"
    DOUBLED = "doubled"
    INVENTED = "invented"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one packet.

    trial: the connection, by its number. onward: towards the server. what: its class. when: sent,
    or come if nobody sent it, in seconds on one clock. packet: as sent; as it came if nobody sent
    it. came: None where nothing did. effects: none where it arrived once, in time, as it was.
    """

    trial: int
    probe: Probe
    onward: bool
    what: str
    when: float
    packet: Segment | IcmpError
    came: Segment | None = None
    late: float = 0.0
    effects: frozenset[Effect] = frozenset()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that came otherwise than they were sent."""
        if self.came is None or not isinstance(self.packet, Segment):
            return ()
        pairs = zip(FIELDS, values(self.packet), values(self.came), strict=True)
        return tuple(name for name, one, other in pairs if one != other)


SYN_ACK, DATA, BARE_ACK, END, RESET = "SYN-ACK", "data", "ACK", "FIN", "RST"
ICMP_ERROR = "ICMP error"


def class_of(segment: Segment) -> str:
    """The class of a packet: what a rule of a middlebox may depend on."""
    if segment.flags & RST:
        return RESET
    if segment.is_syn:
        carries = ["option"] * bool(segment.fast_open) + ["data"] * bool(segment.payload)
        return "SYN" + f" with {' and '.join(carries)}" * bool(carries)
    if segment.is_syn_ack:
        return SYN_ACK + " with option" * bool(segment.fast_open)
    if segment.payload:
        return DATA
    return END if segment.flags & FIN else BARE_ACK


def fates(observations: Observations) -> list[Fate]:
    """What became of every packet of a run, in order of time; nothing without the far end's word,
    nor of connections that another host answered."""
    if observations.far is None:
        return []
    flows = Flows.read(observations.far)
    out, home = clocks(observations, flows)
    found: list[Fate] = []
    for number, trial in enumerate(observations.trials):
        left, near = near_ends(trial)
        keys = flows.of(trial, left[0][1].seq)
        if not keys and any(segment.is_syn_ack for _, segment in near):
            continue
        # One clock is enough here: by it, a packet that is not held up takes no time.
        came = [(at - out, segment) for at, segment in flows.came_on(keys)]
        went = [(at + home, segment) for at, segment in flows.went_on(keys)]
        onward = _Way(number, trial.probe, True, observations.closed)
        homeward = _Way(number, trial.probe, False, min(trial.closed, observations.closed))
        found += onward.match(left, came)
        found += homeward.match(went, near)
        found += _errors(number, trial)
    return sorted(_overtaken(found), key=lambda each: each.when)


def _errors(number: int, trial: Trial) -> Iterator[Fate]:
    """The fates of ICMP errors: the far end sends none."""
    effects = frozenset({Effect.INVENTED})
    for each in trial.near:
        error = each.icmp
        if error is not None and not each.sent:
            yield Fate(number, trial.probe, False, ICMP_ERROR, each.when, error, effects=effects)


def _overtaken(found: Sequence[Fate]) -> list[Fate]:
    """Of packets that came late only those were delayed that later ones overtook: what keeps its
    place stood in a queue, or the machine was busy."""
    judged = []
    for onward in (True, False):
        way = sorted((each for each in found if each.onward is onward), key=lambda each: each.when)
        first = float("inf")
        for _, at_once in itertools.groupby(reversed(way), key=lambda each: each.when):
            those = list(at_once)
            for each in those:
                kept = first >= each.when + each.late - SLACK / 2
                less = {Effect.DELAYED} if kept else set()
                judged.append(replace(each, effects=each.effects - less))
            arrivals = (each.when + each.late for each in those if each.came is not None)
            first = min([first, *arrivals])
    return judged


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction of one connection. until: when the end that receives stopped listening."""

    trial: int
    probe: Probe
    onward: bool
    until: float

    def match(self, sent: Sequence[Seen], came: Sequence[Seen]) -> Iterator[Fate]:
        """Times are such that a packet that was not held up comes when it was sent."""
        arrived, extra = _same(sent, came)
        copies, others = _copies(sent, arrived, extra)
        changed, unknown = _changed(sent, arrived, others)
        again = {values(each[1]): at for at, each in changed.items()}
        copies |= {again[what] for each in unknown if (what := values(each[1])) in again}
        for each in (each for each in unknown if values(each[1]) not in again):
            yield self._fate(each, effects=frozenset({Effect.INVENTED}))
        for at, each in enumerate(sent):
            where = arrived.get(at) or changed.get(at)
            if where is None:
                if each[0] + _UNDER_WAY < self.until:
                    yield self._fate(each, effects=frozenset({Effect.LOST}))
                continue
            late = where[0] - each[0]
            true = {
                Effect.CHANGED: at in changed,
                Effect.DELAYED: late > SLACK,
                Effect.DOUBLED: at in copies,
            }
            told = frozenset(effect for effect, is_true in true.items() if is_true)
            yield self._fate(each, came=where[1], late=late, effects=told)

    def _fate(
        self,
        seen: Seen,
        *,
        effects: frozenset[Effect],
        came: Segment | None = None,
        late: float = 0.0,
    ) -> Fate:
        when, segment = seen
        what = class_of(segment)
        return Fate(self.trial, self.probe, self.onward, what, when, segment, came, late, effects)


def _same(sent: Sequence[Seen], came: Sequence[Seen]) -> tuple[dict[int, Seen], list[Seen]]:
    """What arrived as it was, by the number of what was sent; and what else came.

    Of packets that are alike, the last ones are those that arrived: what is sent again was lost
    before.
    """
    places: dict[tuple[object, ...], list[int]] = {}
    for at, (_, segment) in enumerate(sent):
        places.setdefault(values(segment), []).append(at)
    arrivals: dict[tuple[object, ...], list[Seen]] = {}
    for each in came:
        arrivals.setdefault(values(each[1]), []).append(each)
    found: dict[int, Seen] = {}
    extra: list[Seen] = []
    for what, those in arrivals.items():
        free = list(places.get(what, ()))
        all_came = len(those) >= len(free)
        for each in those:
            before = [at for at in free if sent[at][0] <= each[0] + _EARLY]
            if not before:
                extra.append(each)
                continue
            at = before[0] if all_came else before[-1]
            found[at] = each
            free.remove(at)
    return found, sorted(extra, key=when)


def _changed(
    sent: Sequence[Seen], arrived: Collection[int], extra: Sequence[Seen]
) -> tuple[dict[int, Seen], list[Seen]]:
    """What arrived otherwise than it was sent, by the number of what was sent; and what nobody
    sent."""
    left = [at for at in range(len(sent)) if at not in arrived]
    found: dict[int, Seen] = {}
    invented = []
    for each in extra:
        best, score = None, _ALIKE - 1
        for at in left:
            when, segment = sent[at]
            if at in found or when > each[0] + _EARLY:
                continue
            likeness = _likeness(segment, each[1])
            if likeness > score:
                best, score = at, likeness
        if best is None:
            invented.append(each)
        else:
            found[best] = each
    return found, invented


def _likeness(one: Segment, other: Segment) -> int:
    """Fields that are equal; of packets of two kinds, none."""
    if (one.flags & RST, one.is_syn, one.is_syn_ack) != (
        other.flags & RST,
        other.is_syn,
        other.is_syn_ack,
    ):
        return 0
    return sum(mine == theirs for mine, theirs in zip(values(one), values(other), strict=True))


def _copies(
    sent: Sequence[Seen], arrived: Collection[int], extra: Sequence[Seen]
) -> tuple[set[int], list[Seen]]:
    """The numbers of what came once more as it was, and what else came."""
    places = {values(sent[at][1]): at for at in arrived}
    found = [places.get(values(segment)) for _, segment in extra]
    others = [each for each, at in zip(extra, found, strict=True) if at is None]
    return {at for at in found if at is not None}, others
