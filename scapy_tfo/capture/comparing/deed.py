"""What a path does: its name, and what the packets have in common that it befalls.

What befell some packets of a sort and spared the others is told with what the former have in
common: SYNs with data, SYN-ACKs with a cookie. One packet alone makes no rule: it may be chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scapy_tfo.capture.comparing.fates import Fate
from scapy_tfo.capture.comparing.talk import Talk

LEAST = 2
"""Packets, or connections, that make a rule."""

_MUCH = 3
"""Packets that make a rule of sizes, where nearly any set of few has a bound."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a path does. name: as `scapy-tfo path --boxes` has it, where that has it. says: a
    sentence. times: packets or connections that it befell, of so many of their sort."""

    name: str
    says: str
    times: int
    of: int


Test = Callable[[Fate], bool]


@dataclass(frozen=True, slots=True)
class Sort:
    """Packets with something in common. name: of a deed that befalls them. words: behind what they
    are."""

    name: str
    words: str
    holds: Test


_ALL = Sort("", "", lambda _: True)
_SORTS = (
    _ALL,
    Sort("-with-data", " with data", lambda fate: fate.size > 0),
    Sort("-with-option", " with the option", lambda fate: fate.option),
    Sort("-with-cookie", " with a cookie", lambda fate: fate.cookie),
    Sort(
        "-with-option-and-data",
        " with both the option and data",
        lambda fate: fate.option and fate.size > 0,
    ),
)


def _sort_of(befallen: Sequence[Fate], spared: Sequence[Fate]) -> Sort | None:
    """What the ones have in common, and the others have not; None where there is no such thing."""
    if len(befallen) < LEAST:
        return None
    # What a SYN-ACK's option holds is the cookie; a SYN's may be a request.
    is_reply = befallen[0].what == "SYN-ACK"
    for each in sorted(_SORTS, key=lambda each: is_reply and each.name == "-with-option"):
        if all(map(each.holds, befallen)) and not any(map(each.holds, spared)):
            return each
    if len(befallen) < _MUCH or not spared:
        return None
    least = min(fate.size for fate in befallen)
    if least > max(fate.size for fate in spared):
        return Sort("-with-much-data", f" with {least} bytes of data or more", lambda _: True)
    return None


def told(name: str, what: str, how: str, befallen: Sequence[Fate], spared: Sequence[Fate]) -> Deed:
    """name: of the deed, to which what is common to the packets is added."""
    times, of = len(befallen), len(befallen) + len(spared)
    sort = _sort_of(befallen, spared)
    if sort is None:
        return Deed(name, f"{times} of {of} {what}s {how}, and nothing tells which", times, of)
    says = f"{what}s{sort.words} {how}: {times} of {times}"
    if spared:
        says += f"; others pass: {len(spared)} of {len(spared)}"
    return Deed(name + sort.name, says, times, of)


class Left:
    """The packets of connections of which it is not told yet what became of them."""

    def __init__(self, talks: Sequence[Talk]) -> None:
        self.talks = talks
        self._told: set[int] = set()

    def explain(self, fates: Iterable[Fate]) -> None:
        """These are told."""
        self._told.update(map(id, fates))

    def of(self, talk: Talk) -> list[Fate]:
        """What is left of a connection."""
        return [each for each in talk.fates if id(each) not in self._told]

    def all(self, what: str = "", *, to_server: bool | None = None) -> list[Fate]:
        """What is left of all."""
        return [
            each
            for talk in self.talks
            for each in self.of(talk)
            if what in ("", each.what) and to_server in (None, each.to_server)
        ]
