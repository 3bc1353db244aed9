"""A bench for targets on the wire: this kernel in a namespace, or any reachable address."""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

from scapy_tfo.executor.bench import VolleyResult
from scapy_tfo.executor.conduct import Counts
from scapy_tfo.executor.live.addresses import Range, Site, Throttle, clients_of, leaves_a_mark
from scapy_tfo.executor.live.application import meet
from scapy_tfo.executor.live.bearing import Again, Bearing
from scapy_tfo.executor.live.control import greet
from scapy_tfo.executor.live.cookies import gather
from scapy_tfo.executor.live.earlier import DISTURBED, TRIES
from scapy_tfo.executor.live.engine import Engine
from scapy_tfo.executor.live.health import PLAIN, Health
from scapy_tfo.executor.live.volley import CHUNK, LEAST_CHUNK, SIZE, Volleys
from scapy_tfo.executor.play import Play
from scapy_tfo.executor.profiling import acquaint
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.executor.watched import PATIENCE, WatchedPlay
from scapy_tfo.lab.bulk.target import BulkLab
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.program.cookies import Client, Jar
from scapy_tfo.program.program import CLIENTS, Flow, Program, Wait
from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Link
from scapy_tfo.wire.links.batch_link import LinkBatch
from scapy_tfo.wire.rate_limit import RATE

MOST = 2048
FEW = 16
"""Plays awake at once: as a rule, and when the target lags."""

LAG = 0.05
"""Seconds between a packet and its answer that make us wait for the target."""

LOCAL = Patience(answer=0.4, text=1.0, linger=0.002)
ALONE = Patience(answer=1.2, text=3.0, linger=0.05)
"""How long a program waits among many, and when it is run again alone."""

_SELDOM = 50_000
"""Objects made between two looks for garbage."""

_GIVES_UP = 3.5
"""Seconds: a namespace for campaigns keeps what is abandoned for a short time only, and of other
hosts nothing is known."""
_TURN = 0.1
_AT_ONCE = 64
"""Programs begun before the next look at what has come."""

_NO_SUCH_ENDS = "it takes addresses or ports that are not there"

_CONTROL = -1
"""Number of a control handshake among programs."""


class LiveBench:
    """See `Bench`. A program that is against the model is run again before that is believed.

    at: where to. ours: a target of our own. direct: packets come and go as they are sent. rate:
    packets a second at most, None for no limit. counters: asks the target. ails: what can be told
    of it from the inside, "" for nothing. close: gives back what the bench stands on. again:
    programs that were run twice; excused: those of them that passed then.

    Raises TargetError where the target does not answer.
    """

    def __init__(
        self,
        name: str,
        at: Range,
        *,
        rate: float | None = None,
        patience: Patience = LOCAL,
        ours: bool = True,
        direct: bool = True,
        counters: Callable[[], dict[str, int]] = dict,
        ails: Callable[[], str] = lambda: "",
        close: Callable[[], None],
    ) -> None:
        self.name = name
        self.families = tuple(at.addresses)
        self.again = self.excused = 0
        self._refused: list[int] = []
        self._at = at
        self._direct = direct
        self._patience = patience
        self._alone_patience = ALONE
        # A control that works needs no look at what comes late.
        self._control_patience = replace(ALONE, linger=patience.linger)
        self._play_of: type[Play] = Play
        self.counts = Counts(every=0)
        self._counters = counters
        self._ails = ails
        self._close = close
        self._throttle = Throttle(rate)
        # One of our own has room for all that we send.
        self._bearing = None if ours else Bearing()
        self._health = Health(
            lambda control: self._alone(control, self._control_patience).verdict(),
            ails,
            self._bearing,
        )
        self._engine = Engine(at, self._throttle, ours=ours)
        self._window, self._most = float(MOST), MOST
        self._usual = Site(at.sources, self._gather(at.sources), Profile())
        found = acquaint(self._once, tuple(at.sources), small="small" in at.ports)
        self.profile = replace(
            found, fresh=False, mtu=at.batch.mtu, whole=ours, inline=ours, gives_up_after=_GIVES_UP
        )
        self._usual.profile = self.profile
        self.counts = Counts()
        # What it offers there depends on what programs before have told it.
        marked = replace(self.profile, options=None)
        self._spare = Site(at.spare, self._gather(at.spare), marked)
        self._volleys = Volleys(
            at,
            self._usual.jar,
            self.profile,
            self._engine.ports,
            self._throttle.take,
            chunk=CHUNK if ours else LEAST_CHUNK,
        )
        self._engine.balance.begin(counters())

    @classmethod
    def lab(cls, lab: BulkLab | None = None, *, rate: float | None = None) -> Self:
        """`lab:linux`: this kernel in a namespace of its own, which the bench owns. Raises
        SetupError."""
        lab = lab or BulkLab.start()
        try:
            at = Range(
                lab.batch,
                clients_of(lab.batch.sources, tuple(lab.addresses)),
                clients_of(lab.batch.sources, tuple(lab.addresses), CLIENTS),
                lab.addresses,
                lab.ports,
            )
            return cls(
                "lab:linux", at, rate=rate, counters=lab.counters, ails=lab.ails, close=lab.close
            )
        except BaseException:
            lab.close()
            raise

    @classmethod
    def on(
        cls,
        name: str,
        link: Link,
        addresses: dict[int, Address],
        ports: dict[str, int],
        *,
        rate: float | None = None,
        direct: bool = False,
        ails: Callable[[], str] = lambda: "",
        close: Callable[[], None] = lambda: None,
    ) -> Self:
        """A target behind a link, which the bench then owns. direct, ails, close: as above, of
        what is behind the link; close is called once the bench is there.

        addresses: the target's, by family. ports: "main", where an echo listens, and what else of
        `program.PORTS` it has; programs for the others are not judged. Off this machine the rate
        is a modest one at most. Raises TargetError where the target does not answer, or not as an
        echo.
        """
        if not link.is_local:
            rate = RATE if rate is None else min(rate, RATE)
        batch = LinkBatch(link)
        try:
            families = [each for each in addresses if any(s.version == each for s in link.sources)]
            there = {each: addresses[each] for each in families}
            at = Range(batch, clients_of(link.sources, families), {}, there, ports)
            greet(batch, at.sources, at.addresses, ports["main"])
            meet(batch, at.sources, at.addresses, ports)
            patience = LOCAL if link.is_local else ALONE

            def close_all() -> None:
                batch.close()
                close()

            return cls(
                name,
                at,
                rate=rate,
                patience=patience,
                ours=False,
                direct=direct,
                ails=ails,
                close=close_all,
            )
        except BaseException:
            batch.close()
            raise

    @property
    def slowed(self) -> float:
        """Seconds for which the target's lag, or the rate, has held us back so far."""
        return self._throttle.waited

    @property
    def bore(self) -> str:
        """One line on what the target bore, "" where it bore all."""
        return self._bearing.told_in_words() if self._bearing is not None else ""

    @property
    def lag(self) -> float:
        """Seconds that the target takes to answer, of late."""
        return self._engine.pulse.lag

    def look(self, seen: Callable[[], frozenset[str]] | None, most: int = MOST) -> None:
        """From now on, note what the target executes, see `Engine`. most: programs awake."""
        self._engine.seen, self._most = seen, most

    def watch(self) -> None:
        """From now on, tell what came in the form by which targets are compared."""
        self._play_of, self._patience, self._alone_patience = WatchedPlay, PATIENCE, PATIENCE

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        source = iter(programs)
        waiting = deque[tuple[int, Program]]()
        again = Again(waiting)
        engine, bearing, is_over = self._engine, self._bearing, False
        if bearing is not None:
            bearing.begin()
        # Plays are made and forgotten by the thousand, and little of what is kept refers to them.
        collecting = gc.get_threshold()
        gc.set_threshold(_SELDOM, *collecting[1:])
        try:
            while True:
                is_over = self._begin(source, waiting, is_over)
                while self._refused:
                    yield self._refused.pop(), Verdict(unjudged=_NO_SUCH_ENDS)
                doubts = bearing is not None and bearing.doubtful
                if is_over and not (waiting or len(engine) or doubts):
                    break
                for number, program, play in engine.turn(_TURN):
                    verdict = play.verdict()
                    if verdict.unjudged == DISTURBED and again.moves(number, program):
                        if number == _CONTROL and bearing is not None:
                            bearing.ask_anew()
                    elif bearing is not None and number == _CONTROL:
                        answered = verdict.heard > 0
                        for doubt in bearing.told(answered=answered):
                            if not answered:
                                waiting.append(doubt[:2])
                            elif again.believes(*doubt):
                                yield doubt[0], doubt[2]
                    elif bearing is not None and verdict.violations:
                        bearing.doubtful.append((number, program, verdict))
                    elif again.believes(number, program, verdict):
                        yield number, verdict
                self._count(again)
            engine.flush()
        finally:
            gc.set_threshold(*collecting)
            engine.drop_all()

    def _count(self, again: Again) -> None:
        """Those that passed when they ran again were hampered by the others beside them."""
        self.again += again.begun
        self.excused += again.excused
        if again.excused:
            self._window = max(FEW, self._window / 2**again.excused)
        again.begun = again.excused = 0

    def _ask_for_room(self, bearing: Bearing, now: float) -> None:
        """Send a control where one is due. Raises TargetError where none has been answered for too
        long."""
        bearing.check(self.name)
        if bearing.wants_control():
            doubted = bearing.doubtful[0][1].flows[0].family if bearing.doubtful else 0
            family = doubted or self.families[0]
            control = Program((Flow(family),), (PLAIN, Wait()), "reset")
            if not self._start(_CONTROL, control, self._control_patience, now):
                bearing.told(answered=True)

    def _begin(
        self,
        source: Iterator[tuple[int, Program]],
        waiting: deque[tuple[int, Program]],
        is_over: bool,
    ) -> bool:
        """Begin as many programs as the target can take; returns whether there are no more.

        waiting: programs that go first.
        """
        engine, bearing = self._engine, self._bearing
        now = time.monotonic()
        if bearing is not None:
            self._ask_for_room(bearing, now)
        self._window = (
            max(FEW, 0.9 * self._window) if engine.pulse.lag > LAG else min(MOST, self._window + 1)
        )
        for _ in range(_AT_ONCE):
            if engine.awake >= min(self._window, self._most) or self._throttle.delay():
                break
            if bearing is not None and not bearing.may_begin():
                break
            if waiting:
                number, program = waiting.popleft()
            elif is_over:
                break
            else:
                try:
                    number, program = next(source)
                except StopIteration:
                    is_over = True
                    break
            if not self._can_be(program):
                self._refused.append(number)
                continue
            if not self._start(number, program, self._patience, now):
                waiting.appendleft((number, program))
                break
            if bearing is not None:
                bearing.begun()
        return is_over

    def _can_be(self, program: Program) -> bool:
        """Whether the target and this end have the addresses and ports for it."""
        at = self._at
        if not at.spare and leaves_a_mark(program):
            return False
        return all(
            (each.family, each.client) in at.sources and each.port in at.ports
            for each in program.flows
        )

    def _start(
        self, number: int, program: Program, patience: Patience, now: float, *, keep: bool = False
    ) -> bool:
        """Begin a program; False where ports run short."""
        site = self._spare if self._at.spare and leaves_a_mark(program) else self._usual
        ends, taken = self._engine.place(program, site.sources, now)
        if not ends:
            return False
        whole = site.profile.whole
        log = self.counts.log(number, program.origin, ordered=self._direct, whole=whole)
        watch, given = self.counts.model, (program, ends, site.jar, site.profile, patience)
        play = self._play_of(
            *given, seed=number, keep=keep, watch=watch, log=log, edges=self.counts.edges
        )
        self._engine.start(number, program, play, taken, now)
        return True

    def _once(self, program: Program, profile: Profile) -> Play:
        self._usual.profile = profile
        return self._alone(program)

    def _alone(self, program: Program, patience: Patience | None = None) -> Play:
        """Run one program while no other is under way."""
        patience = patience or self._alone_patience
        while not self._start(0, program, patience, time.monotonic(), keep=True):
            time.sleep(_TURN)
        while True:
            for _, _, play in self._engine.turn(_TURN):
                self._engine.flush()
                return play

    def _gather(self, sources: Mapping[Client, Address]) -> Jar:
        return gather(self._at.batch, sources, self._at.addresses, self._at.ports["main"])

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        if not self._can_be(program):
            return Verdict(unjudged=_NO_SUCH_ENDS), ()
        for _ in range(TRIES):
            play = self._alone(program)
            if play.verdict().unjudged != DISTURBED:
                break
        return play.verdict(), play.trace

    def alive(self) -> str:
        ill = self._ails() or self._engine.balance.weigh(self._counters())
        if ill:
            return ill
        return self._health.ill(self.families, fast_open=self.profile.fast_open)

    def counters(self) -> dict[str, int]:
        return self._counters()

    def volley(self, seed: int, size: int = SIZE) -> VolleyResult:
        """Fire the volley of a seed (see volley.py), while no program is under way.

        Raises TargetError.
        """
        result = self._volleys.fire(seed, size)
        self._engine.balance.opening += result.sent + result.again
        return result

    def close(self) -> None:
        self._close()
