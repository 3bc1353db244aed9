"""A rule on the packets of one end, and what it makes of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scapy_tfo.oracle.conduct.history import Came, History


class Breach(NamedTuple):
    """A packet that breaks a rule: what it should have been, and what it was, in one line each."""

    expected: str
    actual: str


Judged = Breach | bool
"""False: the rule says nothing about the packet. True: the rule applies, and is kept."""


@dataclass(frozen=True, slots=True)
class Rule:
    """name: as specs/ refers to it. judge: is told what was known before the packet came.

    complete: it needs every packet of the other end, and so says nothing about a capture that
    lacks some. numbers: it needs sequence numbers that can be compared: those of one incarnation.
    """

    name: str
    judge: Callable[[History, Came], Judged]
    complete: bool = False
    numbers: bool = False


def held(holds: bool, expected: str, actual: str) -> Judged:
    """The judgement where a rule applies. The texts should cost nothing: this is called often."""
    return True if holds else Breach(expected, actual)
