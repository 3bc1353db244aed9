"""Counts the keys of servers that share an address, and checks that they change in step.

Each holder of a key is known by the cookie that it grants. If it refuses a cookie, or accepts one
and grants another in the answer, that shows how it treats the cookies of another holder (RFC 7413
section 6.3.4; paper 4.2).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.outcome import Ending
from scapy_tfo.suite.peer import Peer

REQUESTS = 16
"""Cookies asked for: servers that share the work show as different cookies."""

COOKIES, TRIED = 4, 48
"""Cookies tried where there are several, and how often all together."""


class Step(enum.Enum):
    """What is to be said of the keys."""

    ONE = enum.auto()
    DIFFERENT = enum.auto()
    OUT_OF_STEP = enum.auto()
    IN_STEP = enum.auto()
    FRESH = enum.auto()
    FORGOTTEN = enum.auto()


@dataclass
class Holders:
    """granted: how often each cookie came for a request. refused: pairs (the holder's own cookie,
    the one that it refused), and how often; renewed: likewise of those it accepted as old.
    tried: fast opens; good: of them accepted."""

    granted: dict[bytes, int] = field(default_factory=dict)
    refused: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    renewed: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    tried: int = 0
    good: int = 0

    def grants(self, cookie: bytes) -> None:
        """A cookie came for a request."""
        self.granted[cookie] = self.granted.get(cookie, 0) + 1

    def answers(self, cookie: bytes, fresh: bytes, *, accepted: bool) -> None:
        """A fast open was answered. fresh: the cookie in the answer, b"" for none."""
        self.tried += 1
        self.good += accepted
        # The same cookie granted anew: another one had arrived.
        if fresh and fresh != cookie:
            into = self.renewed if accepted else self.refused
            into[fresh, cookie] = into.get((fresh, cookie), 0) + 1

    @property
    def number(self) -> int:
        """Of the keys that are in use."""
        return len(self.cookies)

    @property
    def cookies(self) -> set[bytes]:
        return {*self.granted, *(own for own, _ in (*self.refused, *self.renewed))}

    @property
    def asked(self) -> int:
        """Requests that brought a cookie."""
        return sum(self.granted.values())

    @property
    def step(self) -> Step:
        """What they show of the keys."""
        if self.number < 2:
            return Step.ONE
        if len(self.granted) == 1 and self.refused and not self.good:
            return Step.FORGOTTEN
        if len(self.granted) == self.asked and self.good == self.tried:
            return Step.FRESH
        if not self.refused:
            return Step.IN_STEP
        return Step.OUT_OF_STEP if self.renewed else Step.DIFFERENT

    @property
    def says(self) -> str:
        """The same, in a sentence."""
        of = f"{self.number} holders of different keys answer ({self.asked} cookies asked for)"
        good = f"{self.good} of {self.tried} fast opens are accepted"
        return {
            Step.ONE: f"one holder of a key answers ({self.asked} cookies asked for)",
            Step.FORGOTTEN: f"the key changes, and cookies of the old one are refused: {good}",
            Step.FRESH: f"every request brings another cookie, and all are good: {good}",
            Step.IN_STEP: (
                f"{of}; each takes the others' cookies, as in a rotation that is in step: {good}"
            ),
            Step.OUT_OF_STEP: (
                f"{of}; some take the others' cookies as old ones, some refuse them: a rotation "
                f"out of step: {good}"
            ),
            Step.DIFFERENT: f"{of}, and refuse each other's cookies: {good}",
        }[self.step]


async def look_for_holders(peer: Peer, requests: int) -> str:
    """Ask for so many cookies, try those that differ, and say what holds the keys; "" where none
    was granted."""
    found = Holders()
    await together(_ask(peer, found) for _ in range(requests))
    cookies = list(found.granted)[:COOKIES]
    if len(cookies) > 1:
        times = TRIED // len(cookies)
        await together(_try(peer, found, each) for _ in range(times) for each in cookies)
    return f"keys over IPv{peer.family}: {found.says}" if found.granted else ""


async def _ask(peer: Peer, found: Holders) -> None:
    flow = peer.flow()
    try:
        flow.syn(cookie=b"")
        cookie = (await flow.syn_ack("a SYN-ACK to a cookie request")).cookie
    except Ending:
        return
    finally:
        flow.hang_up()
    if cookie:
        found.grants(cookie)


async def _try(peer: Peer, found: Holders, cookie: bytes) -> None:
    flow = peer.flow()
    try:
        flow.syn(cookie=cookie, data=flow.app.request())
        syn_ack = await flow.syn_ack("a SYN-ACK to a cookie with data")
    except Ending:
        return
    finally:
        flow.hang_up()
    found.answers(cookie, syn_ack.cookie or b"", accepted=flow.acknowledged(syn_ack) > 0)
