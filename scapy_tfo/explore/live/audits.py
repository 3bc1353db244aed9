"""What must hold of a target after an exploration: each listener serves as one that is new, and has
room for as many pending fast opens."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator

from scapy_tfo import option as opt
from scapy_tfo.explore.audits import Served, compared
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.live.engine import FEW, Engine
from scapy_tfo.explore.live.play import Patience
from scapy_tfo.explore.live.site import Site
from scapy_tfo.packet import Ends, build, key_of, read
from scapy_tfo.segment import ACK, RST, SYN, Address
from scapy_tfo.seq import distance

COUNTED = "echo"
"""The application whose listener is told to count: one that takes its connections at once."""
PENDS = 75.0
"""Seconds after which a fast open that was reset counts no more, at most targets (paper 7.3)."""
_CLIENT = "write-end:100"
_PATIENCE = Patience(quiet=3.0, linger=0.5, grace=1.0)
"""An application may accept after two seconds."""
_OPENINGS = ("plain", "good")
_ASKED = 2
"""Times, before a listener is blamed."""
_MORE = 64
"""Fast opens beyond the limit that a listener was opened with; as many are begun at a time."""
_SOON, _APART = 0.5, 5.0
"""Seconds to wait for SYN-ACKs, and between two counts."""
_ISN, _TEXT = 1000, b"counted"


def served(engine: Engine, servers: Collection[str]) -> dict[str, Served]:
    """What the listeners of these applications do for who asks properly, by application."""
    openings = _OPENINGS if engine.site.profile.fast_open else _OPENINGS[:1]
    asked = [Schedule(each, server, _CLIENT) for server in servers for each in openings]
    found = {(each.server, each.opening): tuple[str, ...]() for each in asked}
    for play in engine.run(asked, _PATIENCE, most=FEW):
        rules = (each.rule for each in judged(play.run))
        schedule = play.schedule
        found[schedule.server, schedule.opening] = tuple(
            rule for rule in rules if rule not in advice()
        )
    return {
        server: Served(0, found[server, "plain"], found.get((server, "good"), ()))
        for server in servers
    }


def lost(engine: Engine, before: dict[str, Served]) -> Iterator[tuple[str, Problem]]:
    """What listeners did at first and do no more, with the application of each. They are asked
    twice where something is: a target that was slow for a moment has lost nothing."""
    wanting: Collection[str] = before
    for _ in range(_ASKED):
        after = served(engine, wanting)
        wanting = [each for each in wanting if compared(before[each], after[each])]
    for server in wanting:
        for problem in compared(before[server], after[server]):
            yield server, problem


def room(engine: Engine) -> int | None:
    """How many fast opens may pend at the listener that counts, as far as some more than it was
    opened for. None where that is not known: the listeners are not ours to open, or a SYN was not
    answered, which the path may have lost. What was begun is finished, so that nothing of it
    counts."""
    site = engine.site
    limit = site.room
    if limit is None or not site.profile.fast_open or site.profile.cookies_once:
        return None
    source = next(iter(site.sources[min(site.addresses)]))
    cookie = engine.cookie_of(source, site.ports[COUNTED])
    if not cookie:
        return None
    counting = _Counting(site, source, cookie)
    try:
        while counting.taken < limit + _MORE and not (counting.refused or counting.silent):
            counting.begin(_MORE)
        return None if counting.silent else counting.taken
    finally:
        counting.finish()


def moved(
    engine: Engine, before: int | None, patience: float = PENDS
) -> Iterator[tuple[str, Problem]]:
    """Whether there is room for more fast opens now, or for fewer, with the application. before: as
    `room` told; it is counted again until it is the same. patience: seconds for that, in which
    what was reset counts no more."""
    if before is None:
        return
    end = time.monotonic() + patience
    after = room(engine)
    while after != before and time.monotonic() < end:
        time.sleep(_APART)
        after = room(engine)
    if after is None:
        return
    for problem in compared(Served(before, (), ()), Served(after, (), ())):
        yield COUNTED, problem


class _Counting:
    """Fast opens of one client that are begun and left pending. taken, refused, silent: so many
    were, or got no answer."""

    def __init__(self, site: Site, source: Address, cookie: bytes) -> None:
        self._site, self._source = site, source
        options = [opt.mss(1220), opt.fast_open(cookie)]
        self._options = opt.padded(opt.push_options(options))
        self._open: dict[int, tuple[int, int]] = {}
        self._ports: list[int] = []
        self.taken = self.refused = self.silent = 0

    def begin(self, count: int) -> None:
        """Send some SYNs with text, and wait for what answers them."""
        batch = self._site.batch
        ports = [batch.reserve_port(self._source) for _ in range(count)]
        self._ports += ports
        came = batch.exchange([self._segment(each, _ISN, 0, SYN, _TEXT) for each in ports])
        waiting, until = set(ports), time.monotonic() + _SOON
        while True:
            for packet in came:
                self._hear(packet, waiting)
            left = until - time.monotonic()
            if not waiting or left <= 0:
                break
            came = batch.wait(left)
        self.silent += len(waiting)

    def _hear(self, packet: bytes, waiting: set[int]) -> None:
        key, reply = key_of(packet), read(packet)
        if key is None or reply.flags & (SYN | ACK) != SYN | ACK:
            return
        client, sport, port = key
        theirs = self._source.packed, self._site.ports[COUNTED]
        if (client, port) != theirs or sport not in waiting:
            return
        waiting.discard(sport)
        self._open[sport] = reply.ack, reply.seq + 1
        took = distance(_ISN, reply.ack) > 1
        self.taken += took
        self.refused += not took

    def finish(self) -> None:
        """End the handshakes, and then the connections; what the application got is not judged."""
        site, batch = self._site, self._site.batch
        batch.exchange(
            self._segment(sport, number, ack, ACK) for sport, (number, ack) in self._open.items()
        )
        batch.wait(_SOON)
        ended = {sport: number for sport, (number, _) in self._open.items()}
        batch.exchange(
            self._segment(each, ended.get(each, _ISN + 1), 0, RST) for each in self._ports
        )
        batch.wait(_SOON)
        if site.hooks is not None:
            peers = [(str(self._source), each) for each in self._ports]
            site.loop.run_until_complete(site.settled(site.ports[COUNTED], peers))
        for each in self._ports:
            batch.release_port(self._source, each)

    def _segment(self, sport: int, seq: int, ack: int, flags: int, text: bytes = b"") -> bytes:
        site = self._site
        target = site.addresses[self._source.version]
        ends = Ends(self._source.packed, target.packed, sport, site.ports[COUNTED])
        options = self._options if flags & SYN else b""
        return build(ends, seq, ack & 0xFFFFFFFF, flags, options=options, payload=text)
