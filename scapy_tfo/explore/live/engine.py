"""Plays many schedules side by side over one link, each on a port of its own."""

from __future__ import annotations

import asyncio
import gc
import heapq
import math
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scapy_tfo.executor.live.addresses import Throttle
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.live.cookies import Cookies
from scapy_tfo.explore.live.play import CROWD, LivePlay, Patience
from scapy_tfo.explore.live.ports import Ends, Taken
from scapy_tfo.explore.live.setting import LiveSetting, Shared
from scapy_tfo.explore.live.site import Peer, Site
from scapy_tfo.lab.hooks import Session
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.segment import Address

MOST, FEW = 2048, 16
"""Schedules under way at once: as a rule, and when the target lags or is asked in calm."""
_RESTING = 4
"""Times as many may be under way if most of them wait for a timer: what the target has to keep is
bounded, too."""
_LAG = 0.05
"""Seconds from a packet to its answer that make us wait for the target."""
_STALL = 0.05
"""Seconds for which this process has read nothing, and knows little of when things came."""
_TURN, _SETTLE = 0.05, 0.05
"""Seconds between two looks at the clock at most, and between two questions to the hooks."""
_ASLEEP = 0.5
"""Seconds of waiting that make a play one that asks nothing of the target for now."""
_AT_ONCE = 32
_SELDOM = 50_000
"""Objects made between two looks for garbage."""
_IPV4, _TCP = 0x45, 6


@dataclass(slots=True)
class _Running:
    """A play under way. due: the deadline that the heap has. asleep: it has nothing to do for a
    while. over_at: when it was over. is_settled: the hooks end what is left of its connection."""

    play: LivePlay
    taken: Taken
    due: float = math.inf
    asleep: bool = False
    over_at: float = math.inf
    is_settled: bool = False


@dataclass(slots=True)
class _Asked:
    """Sessions that the hooks have been asked for. task: None where there are no hooks."""

    task: asyncio.Task[dict[Peer, list[Session]]] | None
    running: list[_Running] = field(default_factory=list)


class Engine:
    """rate: packets a second at most, None for no limit.

    lag: seconds that the target takes to answer, of late.
    Raises TargetError where the way to the target is gone.
    """

    def __init__(self, site: Site, rate: float | None = None) -> None:
        self.site = site
        self.lag = 0.0
        self._throttle = Throttle(rate)
        self._cookies = Cookies(site)
        self._shared = Shared(site, self._cookies.of)
        self._ends = Ends(site)
        self._window = float(MOST)
        self._most = self._room = MOST
        self._running: dict[bytes, _Running] = {}
        self._due: list[tuple[float, int, _Running]] = []
        self._leaving: dict[int, list[_Running]] = defaultdict(list)
        self._asked: list[_Asked] = []
        self._asked_at = 0.0
        self._serial = self._asleep = 0
        self._late = 0.0
        self._looked_at = time.monotonic()
        self._stalled_at = -math.inf
        self._out: list[bytes] = []
        self._waiting: deque[Schedule] = deque()

    def cookie_of(self, client: Address, port: int) -> bytes:
        """A new cookie of a client; b"" where none is granted. Not while something is played."""
        return self._cookies.of(client, port, True)

    @property
    def applied(self) -> dict[str, int]:
        """How often each rule of conduct applied, by its name."""
        return self._shared.tally.by_name

    def run(
        self,
        schedules: Iterable[Schedule],
        patience: Patience = CROWD,
        *,
        most: int = MOST,
        keep: bool = False,
    ) -> Iterator[LivePlay]:
        """Play them, and yield each when it has ended, in the order in which they end.

        most: at a time that ask something of the target. keep: whether packets are kept.
        """
        source = iter(schedules)
        held = self.site.profile.connections
        self._room = held if held < MANY else MOST
        self._most = most = min(most, self._room)
        # How much a target of others bears is found out from below.
        self._window = float(most if self.site.ours else min(most, FEW))
        collecting = gc.get_threshold()
        gc.set_threshold(_SELDOM, *collecting[1:])
        self._looked_at = time.monotonic()
        try:
            while True:
                is_over = self._begin(source, patience, most, keep)
                busy = self._running or self._leaving or self._asked or self._waiting
                if is_over and not busy:
                    self._flush()
                    return
                yield from self._turn()
        finally:
            gc.set_threshold(*collecting)
            self._drop_all()

    @property
    def _lags(self) -> bool:
        return max(self.lag, self._late) > _LAG

    def _begin(self, source: Iterator[Schedule], patience: Patience, most: int, keep: bool) -> bool:
        """Begin as many as the target can take; whether there are no more."""
        if self._lags:
            self._window = max(min(FEW, most), 0.9 * self._window)
        room = min(self._room, math.ceil(_RESTING * self._window))
        began = time.monotonic()
        for _ in range(_AT_ONCE):
            if time.monotonic() - began > _STALL:
                # A cookie is waited for here: the others, and the hooks, are heard in between.
                return False
            awake = len(self._running) - self._asleep
            is_full = awake >= self._window or len(self._running) >= room
            if is_full or self._throttle.delay():
                return False
            if self._waiting:
                schedule = self._waiting.popleft()
            else:
                try:
                    schedule = next(source)
                except StopIteration:
                    return True
            if not self._start(schedule, patience, keep):
                self._waiting.appendleft(schedule)
                return False
        return False

    def _start(self, schedule: Schedule, patience: Patience, keep: bool) -> bool:
        now = time.monotonic()
        taken = self._ends.take(schedule, now)
        if taken is None:
            return False
        setting = LiveSetting(self._shared, schedule, taken.source, taken.sport, patience.grace)
        play = LivePlay(setting, schedule, patience, keep=keep)
        play.start(now)
        running = _Running(play, taken)
        self._running[play.key] = running
        self._follow(running)
        if self.site.ours:
            self._flush()
        return True

    # A turn

    def _turn(self) -> Iterator[LivePlay]:
        now = time.monotonic()
        wait = min(self._due[0][0] - now if self._due else _TURN, _TURN)
        if self._asked or self._leaving:
            wait = min(wait, _TURN / 10)
        began = now
        came = self._cookies.take_strangers() + self.site.batch.wait(max(wait, 0.0))
        now = time.monotonic()
        if began - self._looked_at > _STALL:
            self._stalled_at = began
        self._hand_in(came, now)
        self._ring(now)
        self._flush()
        self._looked_at = now
        if self._asked:
            self.site.pump()
        self._ask(now)
        yield from self._told()

    def _hand_in(self, came: list[bytes], now: float) -> None:
        for packet in came:
            first = packet[0]
            if first == _IPV4 and packet[9] == _TCP:
                key = packet[16:24]
            elif first >> 4 == 6 and packet[6] == _TCP:
                key = packet[24:44]
            else:
                continue
            running = self._running.get(key)
            if running is None or running.is_settled:
                continue
            play = running.play
            if not play.heard:
                # Later answers come when an application or a timer wants it.
                play.heard = True
                self.lag += (now - play.sent_at - self.lag) / 64
            play.arrive(packet, now, self._stalled_at)
            self._follow(running)

    def _ring(self, now: float) -> None:
        """Do what is due. At a target of our own what came before is read before each packet goes,
        so that packets are known in the order in which the target got and sent them."""
        due = self._due
        while due and due[0][0] <= now:
            when, _, running = heapq.heappop(due)
            if running.due != when or running.over_at < math.inf:
                continue
            running.due = math.inf
            late = time.monotonic()
            self._late += (late - when - self._late) / 64
            running.play.on_timer(late)
            self._follow(running)
            if self._out and self.site.ours:
                self._flush()

    def _follow(self, running: _Running) -> None:
        """Take what a play has to send, and when it is to be asked again."""
        play = running.play
        self._out += play.leaving()
        if running.over_at < math.inf:
            return
        if play.is_over(play.now):
            running.over_at = play.now
            self._sleep(running, True)
            self._leaving[play.port].append(running)
            return
        due = play.deadline
        if due != running.due:
            running.due = due
            self._sleep(running, due - play.now > _ASLEEP)
            self._serial += 1
            heapq.heappush(self._due, (due, self._serial, running))

    def _sleep(self, running: _Running, asleep: bool) -> None:
        self._asleep += asleep - running.asleep
        running.asleep = asleep

    def _flush(self) -> None:
        out, self._out = self._out, []
        if out:
            self._throttle.note(len(out))
            self._hand_in(self.site.batch.exchange(out), time.monotonic())

    # The end of plays

    def _ask(self, now: float) -> None:
        """Ask what became of those that are over, a few times a second."""
        if now - self._asked_at < _SETTLE:
            return
        self._asked_at = now
        for port, some in list(self._leaving.items()):
            ready = [each for each in some if now - each.over_at >= each.play.patience.linger]
            if not ready:
                continue
            rest = [each for each in some if now - each.over_at < each.play.patience.linger]
            if rest:
                self._leaving[port] = rest
            else:
                del self._leaving[port]
            task = None
            if self.site.hooks is not None:
                for each in ready:
                    each.is_settled = True
                asked = self.site.settled(port, {each.play.peer for each in ready})
                task = self.site.loop.create_task(asked)
            self._asked.append(_Asked(task, ready))

    def _told(self) -> Iterator[LivePlay]:
        now = time.monotonic()
        for asked in [each for each in self._asked if each.task is None or each.task.done()]:
            self._asked.remove(asked)
            told = None if asked.task is None else asked.task.result()
            for running in asked.running:
                sessions = None if told is None else told[running.play.peer]
                yield self._end(running, sessions, now)

    def _end(self, running: _Running, sessions: list[Session] | None, now: float) -> LivePlay:
        play = running.play
        play.finish(sessions, now)
        if not (play.heard or self.site.ours):
            # It may have no room for more.
            self._window = max(1.0, self._window / 2)
        elif not self._lags:
            # By what it answered, not by time: how slow it is shows after a second.
            self._window = min(self._most, self._window + 1)
        self._out += play.leaving()
        del self._running[play.key]
        self._sleep(running, False)
        self._ends.give(running.taken, now)
        return play

    def _drop_all(self) -> None:
        """Forget what is under way."""
        now = time.monotonic()
        for running in list(self._running.values()):
            self._ends.give(running.taken, now)
        for asked in self._asked:
            if asked.task is not None:
                asked.task.cancel()
        for each in (self._running, self._leaving, self._asked, self._due, self._waiting):
            each.clear()
        self._out.clear()
        self._asleep = 0
