"""The findings that are possible about a path, and the evidence that they rest on."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.path.account import Account, accounts
from scapy_tfo.path.observation import SEARCHES, Observations, Probe
from scapy_tfo.path.transit import fates

Test = Callable[[Account], bool | None]
"""None where a connection cannot tell, because something of it was lost by chance."""


class Verdict(enum.Enum):
    """What a path does to fast open, in a word or two."""

    TRANSPARENT = "transparent"
    STRIPS = "strips"
    DROPS = "drops"
    TAMPERS = "tampers"
    BLOCKS = "blocks after use"
    BALANCED = "load-balanced to servers with different keys"
    UNKNOWN = "cannot be judged"


ONWARD, HOMEWARD, BOTH = "towards the server", "towards the client", "both ways"
_UNTOLD, _SERVERS = "path or server", "servers"

_WHERE = {
    "strips-option-from-syn-ack": HOMEWARD,
    "drops-syn-ack-with-cookie": HOMEWARD,
    "acknowledges-lost-data": BOTH,
    "strips-option": BOTH,
    "drops-long-option": ONWARD,
    "strips-long-option": ONWARD,
    "blocks-flow-after-syn-data": BOTH,
    "blocks-server-after-syn-data": BOTH,
    "silences-flow-after-handshake": BOTH,
    "resets-after-handshake": BOTH,
    "tracks-no-flow-with-syn-data": BOTH,
    "drops-server-data": HOMEWARD,
    "rewrites-server-data": HOMEWARD,
    "shuts-window": HOMEWARD,
    "shares-address": BOTH,
    "changes-address": BOTH,
    "unexplained": _UNTOLD,
    "different-keys": _SERVERS,
    "keys-out-of-step": _SERVERS,
    "keys-in-step": _SERVERS,
    "several-servers": _SERVERS,
    "fresh-cookies": _SERVERS,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the path does. name: of a box that does it. says: in a sentence. harm: it
    stands in the way of fast open. way: on which it does so, "" where the name says it."""

    name: str
    verdict: Verdict
    says: str
    harm: bool = True
    way: str = ""

    @property
    def where(self) -> str:
        """On which way, or at whom."""
        return self.way or _WHERE.get(self.name, ONWARD if self.name in BOXES else _UNTOLD)

    @property
    def no_client(self) -> str:
        """Why no client can have its data arrive whole and once, "" where every one can."""
        box = BOXES.get(self.name)
        return box.no_client if box is not None else ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one kind of connection costs on this path: seconds to the first echo, beside those of
    a plain one; None where it never came. whole: of how many connections the data arrived whole
    and once."""

    probe: Probe
    seconds: float | None
    plain: float | None
    whole: int
    of: int


@dataclass(frozen=True, slots=True)
class Toll:
    """What the path costs a user of fast open with some data. seconds: more to the first echo of a
    connection than on a path that is transparent, None where none came. lost: of how many
    connections not all data arrived. other_kind: seconds to the first echo with kind 254, if that
    is sooner and all of those connections were whole, else None."""

    seconds: float | None
    lost: int
    of: int
    other_kind: float | None


@dataclass(frozen=True, slots=True)
class Keys:
    """What the servers' cookies show. holders: of different keys, among those that granted so many
    cookies; accepted: of the fast opens tried with them."""

    holders: int
    granted: int
    accepted: int
    tried: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """verdict: the gravest of the findings'. costs: by kind of connection. notes: what cannot be
    concluded, and why. has_far: the far end told what it saw. keys: None where no cookie came.
    syn_data: bytes of a SYN's data, the most that pass and the fewest that do not; None where none
    was too much. toll: None where the path does no harm, or has let no plain connection open."""

    verdict: Verdict
    findings: Sequence[Finding]
    costs: Sequence[Cost]
    notes: Sequence[str] = ()
    has_far: bool = True
    keys: Keys | None = None
    syn_data: tuple[int, int] | None = None
    toll: Toll | None = None

    @property
    def counts(self) -> str:
        """What `Cost.whole` counts: one end alone sees only that a connection opened."""
        return "whole" if self.has_far else "open"


class Evidence:
    """All accounts of a run, and questions to all of a kind at once.

    accounts: of connections that the far end answered, if any did: what happened to the others on
    their way is not known. everywhere: of all. fates: of every packet, with both ends' word.
    """

    def __init__(self, observations: Observations) -> None:
        self.observations = observations
        self.everywhere = accounts(observations)
        self.accounts = [each for each in self.everywhere if not each.elsewhere]
        self.has_far = observations.far is not None
        self.fates = fates(observations)

    def of(self, *probes: Probe) -> list[Account]:
        return [each for each in self.accounts if each.trial.probe in probes]

    @property
    def broken(self) -> list[Account]:
        """The connections that were not whole."""
        return [each for each in self.everywhere if not each.whole]

    def every(self, test: Test, *probes: Probe) -> bool:
        """Whether it befell all connections of these kinds that can tell, and there were some.

        What befell some of them only may have been chance.
        """
        told = [result for each in self.of(*probes) if (result := test(each)) is not None]
        return bool(told) and all(told)

    def each_kind(self, test: Test, *probes: Probe) -> bool:
        return all(self.every(test, each) for each in probes)

    def costs(self) -> list[Cost]:
        """By kind, in the order in which connections were had."""
        plain = _typical(self._all_of(Probe.PLAIN))
        return [
            Cost(probe, _typical(found), plain, sum(each.whole for each in found), len(found))
            for probe in Probe
            if probe not in SEARCHES and (found := self._all_of(probe))
        ]

    def toll(self) -> Toll | None:
        """Of fast opens with some data, by kind 34."""
        opened = self._all_of(Probe.FAST_OPEN)
        plain = _typical(self._all_of(Probe.PLAIN))
        trips = [each.round_trip for each in self._all_of(Probe.PLAIN) if each.round_trip]
        if not opened or plain is None or not trips:
            return None
        first, other = _typical(opened), self._all_of(Probe.FAST_OPEN_254)
        sooner = _typical(other) if other and all(each.whole for each in other) else None
        if sooner is not None and first is not None and sooner > first - min(trips) / 2:
            sooner = None
        more = None if first is None else max(0.0, first - (plain - min(trips)))
        return Toll(more, sum(not each.whole for each in opened), len(opened), sooner)

    def _all_of(self, probe: Probe) -> list[Account]:
        return [each for each in self.everywhere if each.trial.probe is probe]


def _typical(found: Sequence[Account]) -> float | None:
    """The median of those that got an echo."""
    times = sorted(each.trial.seconds for each in found if each.trial.seconds is not None)
    return times[len(times) // 2] if times else None
