"""The far end's sightings by connection, and how far the two ends' clocks differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scapy_tfo.path.observation import Observations, Sighting, Trial
from scapy_tfo.segment import Segment

Flow = tuple[str, int, int]
"""The client's address and port as the far end sees them, and the far port."""

Seen = tuple[float, Segment]

FIELDS = ("flags", "seq", "ack", "window", "urgent", "options", "payload")
"""Those by which a packet is known again: a translator changes addresses and ports."""


def values(segment: Segment) -> tuple[object, ...]:
    """Of the fields, in their order."""
    return (
        segment.flags,
        segment.seq,
        segment.ack,
        segment.window,
        segment.urgent,
        segment.options,
        segment.payload,
    )


def when(seen: Seen) -> float:
    """To sort by."""
    return seen[0]


@dataclass
class Flows:
    """The far end's sightings by connection."""

    came: dict[Flow, list[Seen]] = field(default_factory=dict)
    went: dict[Flow, list[Seen]] = field(default_factory=dict)
    by_isn: dict[int, list[Flow]] = field(default_factory=dict)

    @classmethod
    def read(cls, sightings: Sequence[Sighting]) -> Flows:
        found = cls()
        for each in sightings:
            segment = each.segment
            if segment is None:
                continue
            if each.sent:
                key, into = (str(segment.dst), segment.dport, segment.sport), found.went
            else:
                key, into = (str(segment.src), segment.sport, segment.dport), found.came
            into.setdefault(key, []).append((each.when, segment))
            if segment.is_syn:
                same = found.by_isn.setdefault(segment.seq, [])
                if key not in same:
                    same.append(key)
        return found

    def of(self, trial: Trial, isn: int) -> list[Flow]:
        """The connections that are this one: by its ISN, its address and port, or its data."""
        same = self.by_isn.get(isn, [])
        if not same:
            ends = (str(trial.source[0]), trial.source[1], trial.port)
            same = [ends] if ends in self.came else []
        if not same:
            token = trial.text[0][:8]
            same = [
                key
                for key, seen in self.came.items()
                if any(token in segment.payload for _, segment in seen)
            ]
        return same

    def came_on(self, keys: Sequence[Flow]) -> list[Seen]:
        """What arrived on these, in order."""
        return sorted((each for key in keys for each in self.came.get(key, ())), key=when)

    def went_on(self, keys: Sequence[Flow]) -> list[Seen]:
        """What was sent on these, in order."""
        return sorted((each for key in keys for each in self.went.get(key, ())), key=when)


def near_ends(trial: Trial) -> tuple[list[Seen], list[Seen]]:
    """The segments that the near end sent, and those that came there."""
    sent: list[Seen] = []
    came: list[Seen] = []
    for each in trial.near:
        if (segment := each.segment) is not None:
            (sent if each.sent else came).append((each.when, segment))
    return sent, came


def clocks(observations: Observations, flows: Flows) -> tuple[float, float]:
    """Seconds by which the far clock is ahead when a packet arrives there, and the near clock when
    one arrives here: the time on the way and whatever the clocks differ by. The least: other
    packets were held up."""
    out: list[float] = []
    home: list[float] = []
    for trial in observations.trials:
        sent, came = near_ends(trial)
        keys = flows.of(trial, sent[0][1].seq)
        out += _times(sent, flows.came_on(keys))
        home += _times(flows.went_on(keys), came)
    if not out or not home:
        # Each packet came otherwise than it was sent: the handshakes tell.
        pairs = [_handshake(trial, flows) for trial in observations.trials]
        out = out or [one for one, _ in pairs if one is not None]
        home = home or [other for _, other in pairs if other is not None]
    return min(out, default=0.0), min(home, default=0.0)


def _handshake(trial: Trial, flows: Flows) -> tuple[float | None, float | None]:
    """Seconds from one clock's to the other's for the first SYN and the first SYN-ACK."""
    sent, came = near_ends(trial)
    keys = flows.of(trial, sent[0][1].seq)
    syns = [at for at, segment in flows.came_on(keys) if segment.is_syn]
    answers = [at for at, segment in flows.went_on(keys) if segment.is_syn_ack]
    heard = [at for at, segment in came if segment.is_syn_ack]
    return (
        syns[0] - sent[0][0] if syns else None,
        heard[0] - answers[0] if heard and answers else None,
    )


def _times(sent: Sequence[Seen], came: Sequence[Seen]) -> Iterator[float]:
    """Seconds from one clock's to the other's, for each packet that was sent once."""
    counted = Counter(values(segment) for _, segment in sent)
    first: dict[tuple[object, ...], float] = {}
    for at, segment in came:
        first.setdefault(values(segment), at)
    for at, segment in sent:
        what = values(segment)
        if counted[what] == 1 and what in first:
            yield first[what] - at
