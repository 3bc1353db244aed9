"""Stacks whose initial sequence numbers are where they wrap."""

from __future__ import annotations

from typing import Any

from scapy_tfo import seq
from scapy_tfo.reference.stack import Stack

_SPREAD = 40


def below(stack: type[Stack], end: int) -> type[Stack]:
    """A stack that chooses its ISNs at random among the 40 numbers below that one, but for those
    of a 4-tuple in TIME-WAIT, which go on from the last, and never the same for a 4-tuple twice in
    a row (RFC 9293 section 3.4.1)."""
    before: dict[Any, int] = {}

    def choose_isn(self: Any, local: Any, remote: Any) -> int:
        ends = (*local, *remote)
        if ends in self._reopened:
            return stack.choose_isn(self, local, remote)
        some = [each for each in range(_SPREAD) if each != before.get(ends)]
        before[ends] = number = self.random.choice(some)
        return seq.add(end, -1 - number)

    return type(stack.__name__, (stack,), {"choose_isn": choose_isn})
