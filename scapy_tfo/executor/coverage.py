"""Coverage of a run: edges, from a state and what was sent in it to what came, and pairs of them.

An edge has the state that the connection was in, the class of the segment that was sent, how its
cookie differs from the granted one, the options around it, the class of the reply, the rule of the
standard by which the SYN was judged, and the state afterwards. Two targets that answer alike cover
alike, whatever their numbers and times are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.program.program import Option, Send

EDGE, PAIR = ">", "+"
"""What the names of edges, and of pairs of edges, have in them; those of states and replies have
neither."""

_FULL = 536
"""Bytes that every host takes in one segment (RFC 9293, 3.7.1)."""
_CONTEXT = {"mss": "m", "ws": "w", "sackok": "s", "ts": "t", "raw": "r", "eol": "e"}
_SILENCE = "none"
_NOTHING = "-"


class Edges:
    """Of the flows of one run."""

    def __init__(self, links: Sequence[Connection]) -> None:
        self._links = links
        self._sent = [_NOTHING] * len(links)
        self._before = [_NOTHING] * len(links)
        self._last = [_NOTHING] * len(links)
        self._is_open = [False] * len(links)
        self._found: set[tuple[str, ...]] = set()

    def send(self, step: Send) -> None:
        """A segment is about to be sent."""
        link = self._links[step.flow]
        at = step.seq - link.outbound.sent_end
        place = "" if at == 0 or "S" in step.flags else "<" if at < 0 else "^"
        self._sent[step.flow] = f"{link.flow.port[0]}{place}{stimulus(step)}"
        self._before[step.flow] = link.state
        self._is_open[step.flow] = True

    def come(self, link: Connection, before: str, kind: str) -> None:
        """A reply has come. before: the states that the connection could be in."""
        self._note(link, before, kind)

    def silent(self) -> None:
        """Nothing more comes for what was sent until now."""
        for link in self._links:
            if self._is_open[link.index]:
                self._note(link, self._before[link.index], _SILENCE)

    def _note(self, link: Connection, before: str, kind: str) -> None:
        index = link.index
        sent = self._sent[index]
        self._is_open[index] = False
        rule = link.handshake.rule
        applied = _NOTHING if rule is None else f"{rule.silent}{rule.early:d}"
        self._found.add((EDGE, before, sent, kind, applied, link.state))
        self._found.add((PAIR, self._last[index], coarse := f"{sent[:3]}{kind}{link.state}"))
        self._last[index] = coarse

    def names(self) -> frozenset[str]:
        """Of what was covered."""
        return frozenset(kind.join(rest) for kind, *rest in self._found)


def stimulus(step: Send) -> str:
    """The class of a segment: two with one class differ in numbers alone."""
    size = _NOTHING if not step.size else "d" if step.size <= _FULL else "D"
    lies = "".join(
        letter
        for letter, is_there in (
            ("w", step.wrong),
            ("c", step.checksum),
            ("o", step.data_offset is not None),
            ("f", step.fragments),
            ("r", step.reserved),
            ("u", step.urgent),
            ("z", not step.window),
            ("k", step.sack),
        )
        if is_there
    )
    return f"{''.join(sorted(step.flags))}{size}{lies}{_options(step.options)}"


@lru_cache(4096)
def _options(options: tuple[Option, ...] | None) -> str:
    """Cookies, in their order, and what other options are with them."""
    if options is None:
        return ""
    cookies = "".join(_cookie(each) for each in options if each.name == "fo")
    others = "".join(sorted({_CONTEXT.get(each.name, "") for each in options}))
    return f"/{cookies}/{others}"


def _cookie(option: Option) -> str:
    form = "i" if option.kind in (None, 34) else "x"
    length = "" if option.length is None else "l"
    if option.cookie is None:
        return f"{form}{length}?"
    of = option.cookie.of
    origin = of[:2] if of in ("own", "other") else "fl" if of.startswith("flow:") else "hx"
    edits = ",".join(name for name, _ in option.cookie.edits)
    return f"{form}{length}{origin}({edits})"
