"""Control handshakes: they tell a target that is down, or a path that loses, from a wrong one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from scapy_tfo.errors import TargetError
from scapy_tfo.segment import RST, endpoint
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Ending, Missing
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.suite.target import Target

_TRIES = 5
_TRIES_AT_THE_END = 15
"""So many that loss alone is no explanation: 0.36 ** 15 is below one in a million, where 20 % are
lost each way."""

_SEARCHES, _SEARCHES_AT_ONCE = 400, 20
"""Where 1 % is lost each way, 1 in 3,000 such searches misses it: 0.98 ** 400."""

_SENT_AGAIN = 0.8
"""Seconds over the shortest round trip, after which a SYN-ACK is one that was sent again."""

_SENT_AGAIN_BY = 1.5
"""Seconds after which what was lost has been sent again, by a timer of 1 s (RFC 6298 section 2)."""

_FIRST_PATIENCE = 1.5
"""Seconds: over the round trip by way of two satellites."""

_LONGEST_PAUSE = 10.0


@dataclass(slots=True)
class PathRecord:
    """What the run has learnt of the path to the target.

    rtt, shortest: longest and shortest round trip of a control handshake, in seconds, those left
    out whose SYN-ACK came again. sent, lost: control handshakes, such ones counted as lost.
    reset: those answered with RST, as by a target short of room. recovered: cases that heard
    nothing at first, or a RST, and passed when tried again. grants, accepts: families in which a
    cookie was granted, and SYN data accepted. one_time: those in which a cookie is good once.
    gone: where the target stopped answering, and how; "" while it answers.
    """

    rtt: float = 0.0
    shortest: float = math.inf
    sent: int = 0
    lost: int = 0
    reset: int = 0
    recovered: int = 0
    grants: set[int] = field(default_factory=set)
    accepts: set[int] = field(default_factory=set)
    one_time: set[int] = field(default_factory=set)
    gone: str = ""

    @property
    def is_clean(self) -> bool:
        """True where nothing was ever lost or turned away, so that silence is the target's own."""
        return not (self.lost or self.reset or self.recovered or self.gone)

    @property
    def patience(self) -> float:
        """Seconds to wait for an answer that comes at once, or once more where some are lost."""
        return 0.6 + 4 * self.rtt + (_SENT_AGAIN_BY if self.lost else 0.0)

    @property
    def notes(self) -> list[str]:
        """What is to be said of it in a report."""
        notes = []
        if self.gone:
            how = "run the cases one at a time with --only to find which did it"
            notes.append(f"{self.gone}; {how}")
        if self.lost:
            notes.append(f"{self.lost} of {self.sent} control handshakes were lost on the way")
        if self.reset:
            short = "does the target take fewer connections at a time than the cases need?"
            notes.append(f"{self.reset} of {self.sent} control handshakes were reset: {short}")
        if self.recovered:
            heard = "heard nothing at first, or a RST, and passed when repeated"
            notes.append(f"{self.recovered} case(s) {heard}")
        return notes

    def took(self, seconds: float) -> None:
        """Take in the time of a handshake, whose SYN-ACK may have been sent more than once."""
        self.shortest = min(self.shortest, seconds)
        longest = max(self.rtt, seconds)
        self.lost += longest > self.shortest + _SENT_AGAIN
        within = [each for each in (self.rtt, seconds) if each <= self.shortest + _SENT_AGAIN]
        self.rtt = max(within)


class Control:
    """Plain handshakes with the main listener, each given up again with a RST."""

    def __init__(self, target: Target, board: Switchboard, path: PathRecord) -> None:
        self._target, self._board, self._path = target, board, path

    async def establish(self, families: Sequence[int]) -> None:
        """The first control of each family. Raises TargetError where none succeeds."""
        for family in families:
            failure = await self._insist(family)
            if failure:
                raise TargetError(f"{self._where(family)} cannot be judged: {failure}")

    async def conclude(self, families: Sequence[int]) -> None:
        """Whether the target is still there, once for all where it is not."""
        for family in families if not self._path.gone else ():
            failure = await self._insist(family, tries=_TRIES_AT_THE_END)
            if failure:
                self._path.gone = f"{self._where(family)} stopped answering: {failure}"

    async def search(self, families: Sequence[int]) -> None:
        """Look hard for loss, before a silence is held against the target."""
        for family in families:
            for _ in range(_SEARCHES // _SEARCHES_AT_ONCE):
                if not self._path.is_clean:
                    return
                await asyncio.gather(*(self.handshake(family) for _ in range(_SEARCHES_AT_ONCE)))

    async def keep_watch(self, families: Sequence[int]) -> None:
        """Repeat the control while cases run, ever less often; ends by being cancelled."""
        pause = 0.25
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
            for family in families:
                await self.handshake(family)

    def _where(self, family: int) -> str:
        return endpoint(self._target.addresses[family], self._target.main.port)

    async def _insist(self, family: int, *, tries: int = _TRIES) -> str:
        """The last of a few handshakes: "" where one succeeded, else what went wrong."""
        failure = ""
        for _ in range(tries):
            failure = await self.handshake(family)
            if not failure:
                break
        return failure

    async def handshake(self, family: int) -> str:
        """One handshake: "" where it succeeded, else what went wrong; the record counts it."""
        target, link = self._target, self._target.link
        source = target.sources(family)[0]
        port = link.reserve_port(source)
        flow = Flow(
            self._board,
            owner="control handshake",
            source=source,
            target=target.addresses[family],
            sport=port,
            dport=target.main.port,
            app=target.main.app,
            isn=self._board.random.getrandbits(32),
            mss=1220,
            patience=max(_FIRST_PATIENCE, self._path.patience),
        )
        loop = asyncio.get_running_loop()
        # Waiting for our own turn to send is no part of the way there and back.
        began = loop.time() + link.lag
        self._path.sent += 1
        try:
            flow.syn()
            await flow.syn_ack()
            self._path.took(max(loop.time() - began, 0.0))
            flow.send(RST, seq=flow.their_rcv_nxt)
        except Ending as ending:
            if flow.was_reset:
                self._path.reset += 1
                return "the port is closed (RST in answer to a SYN); is the server running?"
            if flow.icmp:
                error = flow.icmp[-1]
                return f"ICMP error type {error.type} code {error.code} from {error.src}"
            if not isinstance(ending, Missing):
                return f"a wrong answer to a plain SYN: {ending.reason}"
            self._path.lost += 1
            return f"no answer to a plain SYN ({ending.actual})"
        finally:
            self._board.close((source, port, target.addresses[family], target.main.port))
            link.release_port(source, port)
        return ""
