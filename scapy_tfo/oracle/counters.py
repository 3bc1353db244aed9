"""Compares the target's own count of fast opens with the packets on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scapy_tfo.option import FastOpen
from scapy_tfo.oracle.parts.rules import elsewhere
from scapy_tfo.oracle.parts.state import Connection

BALANCED = elsewhere("counters-balance", source="RFC 7413 section 4.2.2", requirement="robust")
"""The target's own counters can be true of what was sent. No clause has to say it."""

MISCOUNTS = "its counters do not balance"
"""How what `weigh` finds begins."""

ACCEPTED, REFUSED = "TCPFastOpenPassive", "TCPFastOpenPassiveFail"
REQUESTS = "TCPFastOpenCookieReqd"
OF_SYNS = (ACCEPTED, REFUSED, REQUESTS)
"""Counters of which a SYN raises one at most."""


@dataclass(slots=True)
class Balance:
    """What a target must have counted since it was weighed last.

    opening: SYNs sent that may have a Fast Open option. taken: SYN-ACKs, each the first of its
    handshake, that acknowledge text of the SYN. granted: such with a cookie. Bounds, not exact
    numbers: a SYN may be lost, or come where nobody listens.
    """

    opening: int = 0
    taken: int = 0
    granted: int = 0
    _before: Mapping[str, int] | None = None

    def note(self, link: Connection) -> None:
        """Count what came for a flow that is over. Of one that went wrong nothing is sure: it may
        have been for an older connection on its ports."""
        if link.evidence.violations or link.vague:
            return
        self.taken += (
            link.handshake.iss is not None and (link.handshake.taken or 0) > link.handshake.fin
        )
        answered = link.history.answer.fast_open
        self.granted += any(isinstance(each, FastOpen) and bool(each.cookie) for each in answered)

    def begin(self, counters: Mapping[str, int]) -> None:
        """From now on; what was noted before does not count."""
        self.opening = self.taken = self.granted = 0
        self._before = counters

    def weigh(self, counters: Mapping[str, int]) -> str:
        """What does not balance, "" where all does, or nothing is counted; then begins anew.

        To be called while nothing is under way, or the SYNs of it are not counted here.
        """
        before, opening, taken, granted = self._before, self.opening, self.taken, self.granted
        self.begin(counters)
        if before is None or not all(name in counters and name in before for name in OF_SYNS):
            return ""
        rose = {name: counters[name] - before[name] for name in OF_SYNS}
        told = ", ".join(f"{name} rose by {by}" for name, by in rose.items())
        for is_wrong, why in (
            (min(rose.values()) < 0, "none may go back"),
            (sum(rose.values()) > opening, f"{opening} SYNs may have had the option"),
            (rose[ACCEPTED] < taken, f"the text of {taken} SYNs was acknowledged"),
            (sum(rose.values()) < granted, f"{granted} cookies were granted"),
        ):
            if is_wrong:
                return f"{MISCOUNTS}: {told}, but {why}"
        return ""
