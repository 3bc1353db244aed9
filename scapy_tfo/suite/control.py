"""Control handshakes: they tell a target that is down, or a lossy path, from a faulty target."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scapy_tfo.errors import TargetError
from scapy_tfo.segment import RST, endpoint
from scapy_tfo.silence.likelihood import Tally
from scapy_tfo.silence.pace import Pace, late_after
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Ending, Missing
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.suite.target import Target

_TRIES = 5
_LAST_TRY = 4.0
"""Seconds that the last of the first handshakes waits: some stacks take two for each answer."""

_TRIES_AT_THE_END = 15
"""So many that loss alone is no explanation: 0.36 ** 15 is below one in a million, where 20 % are
lost each way."""

_SEARCHES, _SEARCHES_AT_MOST, _SEARCHES_AT_ONCE, _SEARCH_SECONDS = 400, 2000, 20, 6.0
"""Controls that a period has before a silence is held against the target, unless fewer are enough
or that takes longer: 0.98 ** 400, 1 in 3,000, where 1 % is lost each way, is the chance to miss it.
While none of them was lost it is worth to go on."""

_SENT_AGAIN = 0.8
"""Seconds over the shortest round trip, after which a SYN-ACK is one that was sent again."""

_SENT_AGAIN_BY = 1.5
"""Seconds after which what was lost has been sent again, by a timer of 1 s (RFC 6298 section 2)."""

_FIRST_PATIENCE = 1.5
"""Seconds: over the round trip by way of two satellites."""

_LEAST_PATIENCE, _MOST_PATIENCE = 0.6, 10.0
"""Seconds that an answer may take, whatever the controls took."""

_RECENT = 50
"""Control handshakes that the patience follows: a target that was overloaded gets quick again."""

_LONGEST_PAUSE = 10.0

_QUICK_PAUSE = 0.03
"""Seconds between controls while more cases wait for their turn than are under way."""

_ASKED_IN_VAIN = 12
"""Cookie requests that are answered without a cookie before a target counts as granting none."""


@dataclass(slots=True)
class PathRecord:
    """What the run has learnt of the path to the target.

    rtt, shortest: longest and shortest round trip of recent control handshakes, in seconds, those
    left out whose SYN-ACK came again. sent, lost: control handshakes, such ones counted as lost.
    reset: those answered with RST, as by a target short of room: the path has lost nothing there.
    recovered, squeezed: cases that heard nothing at first, or a RST, and passed when tried again.
    grants, accepts: families in which a cookie was granted, and SYN data accepted. asked: cookie
    requests answered without one, by family. one_time: those in which a cookie is good once. off:
    those in which fast open did not come back after all of ours had ended. gone: where the target
    stopped answering, and how; "" while it answers. holding: cases that hold so many connections
    open that a control may fail for it; such controls say nothing of the path, and count for `held`
    alone.
    thinking: seconds that the application may take to answer, 0.0 where that is no time. room: how
    many connections the target holds at a time, by family, where that is few. roomy: families in
    which it was seen to hold enough.
    """

    rtt: float = 0.0
    shortest: float = math.inf
    sent: int = 0
    lost: int = 0
    reset: int = 0
    recovered: int = 0
    squeezed: int = 0
    grants: set[int] = field(default_factory=set)
    accepts: set[int] = field(default_factory=set)
    asked: Counter[int] = field(default_factory=Counter)
    one_time: set[int] = field(default_factory=set)
    off: set[int] = field(default_factory=set)
    gone: str = ""
    holding: set[str] = field(default_factory=set)
    held: Tally = field(default_factory=Tally)
    thinking: float = 0.0
    room: dict[int, int] = field(default_factory=dict)
    roomy: set[int] = field(default_factory=set)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _period: dict[int, Tally] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """True where nothing was ever lost or turned away, so that silence is the target's own."""
        return not (self.may_lose or self.reset or self.squeezed)

    @property
    def may_lose(self) -> bool:
        """Whether anything was ever silent that was not silent always."""
        return bool(self.lost or self.recovered or self.gone)

    @property
    def patience(self) -> float:
        """Seconds to wait for an answer that comes at once, or once more where some are lost."""
        by_path = _LEAST_PATIENCE + 4 * self.rtt + (_SENT_AGAIN_BY if self.lost else 0.0)
        by_target = _LEAST_PATIENCE + 1.5 * max(self.recent, default=0.0)
        return min(max(by_path, by_target), _MOST_PATIENCE) + self.thinking

    @property
    def notes(self) -> list[str]:
        """What is to be said of it in a report."""
        notes = []
        if self.gone:
            how = "run the cases one at a time with --only to find which did it"
            notes.append(f"{self.gone}; {how}")
        if self.thinking:
            notes.append(
                f"the application takes time to answer: each wait is {self.thinking:.1f} s longer"
            )
        # Where there is so little room, this is why few cases ran at a time.
        for room in sorted(set(self.room.values())):
            over = " and ".join(
                f"IPv{each}" for each in sorted(self.room) if self.room[each] == room
            )
            notes.append(
                f"over {over} the target holds {room} connection(s) at a time: cases ran singly"
            )
        if self.lost:
            lost = "were lost on the way, or answered as late as if they were"
            notes.append(f"{self.lost} of {self.sent} control handshakes {lost}")
        if self.held.lost:
            left = "they say nothing of the path, and are left out"
            notes.append(
                f"{self.held.lost} of {self.held.sent} control handshakes failed while a case held"
                f" many connections: {left}"
            )
        if self.reset:
            short = "does the target take fewer connections at a time than the cases need?"
            sent = self.sent + self.held.sent
            notes.append(f"{self.reset} of {sent} control handshakes were reset: {short}")
        for count, heard in ((self.recovered, "nothing"), (self.squeezed, "a RST")):
            if count:
                notes.append(f"{count} case(s) heard {heard} at first, and passed when repeated")
        notes += [
            f"{self._without(family)} over IPv{family}: {self.asked[family]} cookie requests were"
            " answered without a cookie, and the cases that need one were not run"
            " (on Linux, servers need net.ipv4.tcp_fastopen=2 or 3, and TCP_FASTOPEN)"
            for family in sorted(self.asked)
            if self.grants_nothing(family)
        ]
        return notes

    def _without(self, family: int) -> str:
        """What a target that grants no cookie lacks, as far as it was seen."""
        return "no cookie is granted" if family in self.accepts else "there is no fast open"

    def took(self, seconds: float) -> bool:
        """Take in the time of a handshake, whose SYN-ACK may have been sent more than once.

        True where this one, or the one before it, counts as lost.
        """
        self.shortest = min(self.shortest, seconds)
        longest = max(self.rtt, seconds)
        late = longest > self.shortest + _SENT_AGAIN
        self.lost += late
        self.recent.append(seconds)
        self.rtt = max(each for each in self.recent if each <= self.shortest + _SENT_AGAIN)
        return late

    def has_room_for(self, family: int, connections: int) -> None:
        """The target holds so few connections at a time: what it did not answer so far was one
        more, and tells nothing of the path."""
        self.room[family] = connections
        self.lost = self.recovered = 0
        self.begin_period()

    def begin_period(self) -> None:
        """What is counted from now on is another period's."""
        self._period = {}

    def tally(self, family: int) -> Tally:
        """Of the present period, over one family."""
        return self._period.setdefault(family, Tally())

    def grants_nothing(self, family: int) -> bool:
        """Whether so many cookie requests were in vain that no more are sent."""
        return family not in self.grants and self.asked[family] >= _ASKED_IN_VAIN


class Control:
    """Plain handshakes with the main listener, each given up again with a RST."""

    def __init__(self, target: Target, board: Switchboard, path: PathRecord) -> None:
        self._target, self._board, self._path = target, board, path

    async def establish(self, families: Sequence[int]) -> None:
        """The first control of each family. Raises TargetError where none succeeds."""
        for family in families:
            failure = await self._insist(family, tries=_TRIES - 1)
            if failure:
                failure = await self._wait_for_a_slow_one(family)
            if failure:
                raise TargetError(f"{self._where(family)} cannot be judged: {failure}")

    async def conclude(self, families: Sequence[int]) -> None:
        """Whether the target is still there, once for all where it is not."""
        for family in families if not (self._path.gone or self._board.bounds.over) else ():
            failure = await self._insist(family, tries=_TRIES_AT_THE_END)
            if failure:
                self._path.gone = f"{self._where(family)} stopped answering: {failure}"

    async def search(self, family: int, enough: Callable[[], bool], at_once: int) -> None:
        """Count more controls in this period, until it has enough to judge a silence by.

        enough: whether no more are needed. at_once: handshakes that the target bears.
        """
        loop = asyncio.get_running_loop()
        tally, until = self._path.tally(family), loop.time() + _SEARCH_SECONDS
        at_once = min(at_once, _SEARCHES_AT_ONCE)
        reset = self._path.reset
        while loop.time() < until:
            if self._path.reset > reset:
                # It is short of room, of which more handshakes leave it even less.
                return
            if tally.sent >= (_SEARCHES if tally.lost else _SEARCHES_AT_MOST):
                return
            if enough() or self._board.bounds.over:
                return
            await asyncio.gather(*(self.handshake(family) for _ in range(at_once)))

    async def keep_watch(self, families: Sequence[int], pace: Pace) -> None:
        """Repeat the control while cases run, ever less often; ends by being cancelled.

        pace: is told how soon each was answered, and asks for more while cases wait.
        """
        pause = 0.25
        while True:
            hurried = pace.has_waiting and pace.limit < pace.most
            await asyncio.sleep(_QUICK_PAUSE if hurried else pause)
            pause = pause if hurried else min(pause * 1.5, _LONGEST_PAUSE)
            for family in families:
                # With so little room, a control would take that of a case.
                if family not in self._path.room:
                    await self._tell(pace, family)

    async def _tell(self, pace: Pace, family: int) -> None:
        """One handshake, and whether the target bore it well."""
        control = asyncio.ensure_future(self.handshake(family))
        loop = asyncio.get_running_loop()
        held = bool(self._path.holding)
        try:
            await asyncio.wait({control}, timeout=late_after(min(self._path.shortest, 1.0)))
            if not (control.done() or held):
                pace.overloaded(loop.time())
            failure = await control
        finally:
            control.cancel()
        if held or self._path.holding:
            return
        if failure:
            pace.overloaded(loop.time())
        else:
            pace.prompt()

    def _where(self, family: int) -> str:
        return endpoint(self._target.addresses[family], self._target.main.port)

    async def _wait_for_a_slow_one(self, family: int) -> str:
        """Like `handshake`, but with more patience: where that is all it took, nothing was lost."""
        failure = await self.handshake(family, patience=_LAST_TRY)
        if not failure and self._path.shortest > _FIRST_PATIENCE:
            tally = self._path.tally(family)
            self._path.lost -= tally.lost
            tally.lost = 0
        return failure

    async def _insist(self, family: int, *, tries: int) -> str:
        """The last of a few handshakes: "" where one succeeded, else what went wrong."""
        failure = ""
        for _ in range(tries):
            failure = await self.handshake(family)
            if not failure:
                break
        return failure

    async def handshake(self, family: int, *, patience: float = _FIRST_PATIENCE) -> str:
        """One handshake: "" where it succeeded, else what went wrong; the record counts it.

        patience: seconds, unless the path asks for more.
        """
        target, link, path = self._target, self._target.link, self._path
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
            patience=max(patience, path.patience),
        )
        loop = asyncio.get_running_loop()
        # Waiting for our own turn to send is no part of the way there and back.
        began = loop.time() + link.lag
        tally, held, failure, seconds = path.tally(family), bool(path.holding), "", 0.0
        try:
            flow.syn()
            await flow.syn_ack()
            seconds = max(loop.time() - began, 0.0)
            flow.send(RST, seq=flow.their_rcv_nxt)
        except Ending as ending:
            failure = self._failure(flow, ending)
        finally:
            self._board.close((source, port, target.addresses[family], target.main.port))
            link.release_port(source, port)
        path.reset += flow.was_reset
        if held or path.holding or family in path.room:
            path.held.count(lost=bool(failure))
            return failure
        path.sent += 1
        path.lost += bool(failure) and not (flow.heard or flow.icmp)
        if not flow.was_reset:
            tally.count(lost=bool(failure) or path.took(seconds))
        return failure

    def _failure(self, flow: Flow, ending: Ending) -> str:
        """What went wrong with a handshake."""
        if flow.was_reset:
            return "the port is closed (RST in answer to a SYN); is the server running?"
        if flow.icmp:
            error = flow.icmp[-1]
            told = f"ICMP error type {error.type} code {error.code} from {error.src}"
            return f"{told}: is the host up, and do a route and a firewall let us reach the port?"
        if not isinstance(ending, Missing):
            return f"a wrong answer to a plain SYN: {ending.reason}"
        flood = self._board.bounds.doubt(flow.owner)
        return f"no answer to a plain SYN ({flood or ending.actual})"
