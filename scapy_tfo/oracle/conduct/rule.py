"""A rule on the packets of one end, and what it makes of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scapy_tfo.oracle.conduct.history import Came, History
    from scapy_tfo.segment import Segment


class Breach(NamedTuple):
    """A packet that breaks a rule: what it should have been, and what it was, in one line each."""

    expected: str
    actual: str


KINDS = "sra"
"""Segments with SYN, with RST, and the others, as letters."""

Judged = Breach | bool
"""False: the rule says nothing about the packet. True: the rule applies, and is kept."""


class Due(NamedTuple):
    """What has to come. since, by: from when and until when, in seconds. expected: in one line.
    meets: whether a segment is it. plain: it is waived when the peer sends what a stack may mind;
    waived: whether it is for another reason."""

    since: float
    by: float
    expected: str
    meets: Callable[[Came], bool]
    plain: bool = True
    waived: Callable[[], bool] = bool


def nothing(_history: History, _came: Came) -> Judged:
    """Says nothing about packets: of rules that say what has to come."""
    return False


@dataclass(frozen=True, slots=True)
class Rule:
    """name: as specs/ refers to it. judge: is told what was known before the packet came.

    complete: it needs every packet of the other end, and so says nothing about a capture that
    lacks some. ordered: it needs the packets of the end that is judged as they were sent, each
    once, in their order, with their IP header. numbers: it needs sequence numbers that can be
    compared: those of one incarnation. listens: it is about an end that is connected to, and says
    nothing of one that connects. contents: it compares bytes of text. whole: it
    needs segments as they were sent, of which no interface put several into one.
    on: which segments it may apply to, some of `KINDS`. options, text: only those with any.
    needs: bits of conditions.py; where one does not hold, it says nothing, and is not asked.
    owes: what the judged end owes after a segment of its peer, which was just learned. owes_after:
    after one of its own. What does not come is judged only where nothing is lost on the way and the
    times are known.
    """

    name: str
    judge: Callable[[History, Came], Judged] = nothing
    complete: bool = False
    ordered: bool = False
    numbers: bool = False
    listens: bool = False
    contents: bool = False
    whole: bool = False
    on: str = KINDS
    options: bool = False
    text: bool = False
    needs: int = 0
    owes: Callable[[History, Segment, float], Due | None] | None = None
    owes_after: Callable[[History, Came], Due | None] | None = None


def strict(
    name: str,
    judge: Callable[[History, Came], Judged],
    on: str,
    needs: int,
    *,
    text: bool = False,
) -> Rule:
    """A rule on an end that listens, which needs all that both ends sent, in its order."""
    return Rule(
        name,
        judge,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on=on,
        text=text,
        needs=needs,
    )
