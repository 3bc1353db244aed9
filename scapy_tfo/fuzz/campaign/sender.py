"""Sends the programs of a campaign, several batches at a time, and stores each complete batch."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import Bench, Volleyer
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.campaign.volleys import fired
from scapy_tfo.fuzz.findings.keeper import Keeper
from scapy_tfo.fuzz.findings.totals import Part
from scapy_tfo.fuzz.generation.batches import Batch, Late, Maker, Tally, slowest_of
from scapy_tfo.fuzz.generation.corpus import Corpus
from scapy_tfo.fuzz.generation.grammar import CONVERSATIONS
from scapy_tfo.fuzz.generation.plan import AUTO, NONE, TARGET
from scapy_tfo.program.program import Program, waits

CONDUCT_EVERY = 8
"""One program in so many, and each whole conversation, is also judged by the rules of plain TCP,
which takes as long as all the rest: what breaks one of them does so in many programs."""

MOST_OPEN = 16
"""Batches under way at a time."""

MOST_LATE = 1024
"""Programs that were put off and are under way at a time."""

ROUND, LIVE_ROUND = 2.0, 10.0
"""Seconds of sending in a round, where no program takes longer. Where time is real it takes two
more to wait for the last verdicts and to see whether the target lives."""

SUSPECTS = 256
"""Programs sent last that are remembered: one of them may have killed the target."""

_AT_ONCE, _LATE_AT_ONCE = 16, 64
_QUICK = 1.0
"""Seconds in which a target takes the volleys of some batches that it may have more of at once."""

_SILENT = 0.5


class Sender:
    """store: to keep things in. make: the grammar. programs: of the whole campaign, None for no
    limit. left: seconds until it is over. on_whole: called when something was kept.

    sent, probes, seconds: programs judged, segments, and time of sending, in this run. whole:
    batches that were kept whole. slowest: see `Tally`. last: what was sent last, with its number.
    """

    def __init__(
        self,
        store: Keeper,
        make: Maker,
        programs: int | None,
        left: Callable[[], float],
        on_whole: Callable[[], None],
    ) -> None:
        self.sent = 0
        self.whole = 0
        self.probes = 0
        self.seconds = 0.0
        self.slowest: list[tuple[float, int]] = []
        self._sent_at: dict[int, float] = {}
        self.last: deque[tuple[int, Program]] = deque(maxlen=SUSPECTS)
        self._store = store
        self._plan = store.plan
        self._make = make
        self._corpus = Corpus(store.base())
        self._left = left
        self._on_whole = on_whole
        self._to_come = self._unsent(programs)
        self._next = next(self._to_come, None)
        self._open: dict[int, Batch] = {}
        self._late: dict[int, Late] = {}
        self._begun_late = set[int]()
        self._done: list[tuple[Late, Verdict]] = []
        self._mark = 0.0
        self._rest = 0.0
        self._began = 0.0
        self._is_begun = False
        self._trusts_silence = False

    @property
    def has_more(self) -> bool:
        """Whether something is left to be sent, in the time that is left."""
        programs = self._next or self._open or self._store.late(1, self._left())
        return bool(programs or self._missing_volleys())

    def round(self, bench: Bench) -> str:
        """Send for a while, and wait for the verdicts; why the target may be dead, or "".

        Where it may be, `go_on` or `begin_anew` says what becomes of the open batches.
        """
        self._began = self._mark = time.monotonic()
        self._is_begun = bool(self._open)
        every, bench.counts.every = bench.counts.every, CONDUCT_EVERY
        bench.counts.always = CONVERSATIONS
        bench.counts.edges = self._plan.coverage != NONE
        bench.counts.target = self._plan.coverage in (AUTO, TARGET)
        bench.counts.slowly = self._plan.coverage == TARGET
        running = bench.run(self._stream())
        trouble = ""
        try:
            for number, verdict in running:
                trouble = self._take(number, verdict)
                if trouble or (self._left() <= 0 and not self._is_busy):
                    break
        except TargetError as error:
            trouble = str(error)
        finally:
            if isinstance(running, Generator):
                running.close()
            bench.counts.every, bench.counts.edges = every, False
            bench.counts.target = bench.counts.slowly = False
            self._keep_late()
            # Those of an open batch are put off once more, with it.
            self._late.clear()
            self._begun_late.clear()
            self._sent_at.clear()
            self._done.clear()
            self._rest = time.monotonic() - self._mark
        if not trouble and self._left() > 0:
            self.go_on()
        return trouble

    def go_on(self) -> None:
        """Wait no more for the verdicts that are missing."""
        for batch in list(self._open.values()):
            batch.give_up()
            if batch.is_whole:
                self._keep(batch)

    def begin_anew(self) -> None:
        """Send the open batches again, from their first program on."""
        for number, batch in self._open.items():
            self._open[number] = self._batch(number, batch.numbers)

    def trust_silence(self) -> None:
        """Much silence is no sign of a dead target: this one is so."""
        self._trusts_silence = True

    def break_off(self) -> None:
        """Keep the open batches as they are: they count, and a resumed run sends them again."""
        # What passed since the last round was no sending.
        self._mark = time.monotonic() - self._rest
        for batch in self._open.values():
            if batch.tally.programs:
                self._store.commit(batch, seconds=self._lap(batch.tally), complete=False)
        self._open.clear()

    def fire(self, bench: Bench) -> None:
        """Send the volleys of the batches that are whole. Raises TargetError."""
        if not self._plan.volleys or not isinstance(bench, Volleyer):
            return
        waiting, at_once = self._missing_volleys(), 1
        while waiting and self._left() > 0:
            self._mark = began = time.monotonic()
            some, waiting = waiting[:at_once], waiting[at_once:]
            for number, tally in fired(bench, self._plan, some).items():
                self._store.commit_volleys(number, tally, seconds=self._lap(tally))
            self._on_whole()
            # At a slow target the time must not be over long before this is.
            quick = time.monotonic() - began < _QUICK
            at_once = min(2 * at_once, MOST_OPEN) if quick else 1

    def _missing_volleys(self) -> list[int]:
        """Batches that are whole, but for their volleys."""
        if not self._plan.volleys:
            return []
        return sorted(self._store.finished().keys() - self._store.finished(Part.VOLLEYS).keys())

    def _unsent(self, programs: int | None) -> Iterator[tuple[int, range]]:
        finished = self._store.finished()
        for number, numbers in self._plan.batches(programs):
            if finished.get(number, 0) < len(numbers):
                yield number, numbers

    def _batch(self, number: int, numbers: range) -> Batch:
        return Batch(self._plan, number, numbers, self._make, self._corpus)

    def _stream(self) -> Iterator[tuple[int, Program]]:
        if self._store.late_ones():
            yield from self._beside(self._store.late(MOST_LATE, self._left()))
        while self._left() > 0:
            # The oldest batch goes first, so that what a killed run loses is little.
            for batch in list(self._open.values()):
                before = batch.next
                for number, program in islice(batch.programs(), _AT_ONCE):
                    self._begun(number, program)
                    yield number, program
                yield from self._beside(batch.late)
                if batch.next > before:
                    break
            else:
                if not self._open_another():
                    return

    @property
    def _is_busy(self) -> bool:
        return any(batch.is_busy for batch in self._open.values())

    def _beside(self, late: Sequence[Late]) -> Iterator[tuple[int, Program]]:
        """Programs that were put off and for which there is room and time, the longest first: they
        wait while others are sent. A round that is to end takes no more of them."""
        left = self._left()
        if self._next is not None and time.monotonic() - self._began >= LIVE_ROUND:
            return
        new = [each for each in late if each.number not in self._begun_late]
        fit = [each for each in new if waits(each.program) <= left]
        fit.sort(key=lambda each: -waits(each.program))
        for each in fit[: MOST_LATE - len(self._late)]:
            self._late[each.number] = each
            self._begun_late.add(each.number)
            self._begun(each.number, each.program)
            yield each.number, each.program

    def _open_another(self) -> bool:
        """Whether there is one, and the round goes on."""
        if self._next is None or len(self._open) >= MOST_OPEN:
            return False
        seconds = LIVE_ROUND if self._plan.live else ROUND
        if self._is_begun and not self._late and time.monotonic() - self._began >= seconds:
            return False
        self._is_begun = True
        number, numbers = self._next
        self._open[number] = self._batch(number, numbers)
        self._next = next(self._to_come, None)
        return True

    def _begun(self, number: int, program: Program) -> None:
        self.last.append((number, program))
        self._sent_at[number] = time.monotonic()

    def _take(self, number: int, verdict: Verdict) -> str:
        """Count a verdict; what is suspicious, or ""."""
        took = time.monotonic() - self._sent_at.pop(number, math.inf)
        late = self._late.pop(number, None)
        if late is not None:
            self._done.append((late, verdict))
            if len(self._done) >= _LATE_AT_ONCE:
                self._keep_late()
                self._on_whole()
            return ""
        batch = self._open[number // self._plan.batch]
        batch.add(number, verdict)
        batch.tally.took(number, took)
        if not batch.is_whole:
            return ""
        tally = batch.tally
        if tally.silent > _SILENT * tally.programs and not self._trusts_silence:
            return f"{tally.silent} of {tally.programs} programs met silence"
        self._keep(batch)
        return ""

    def _keep(self, batch: Batch) -> None:
        del self._open[batch.number]
        self._store.commit(batch, seconds=self._lap(batch.tally))
        self.whole += 1
        self._keep_late()
        self._on_whole()

    def _keep_late(self) -> None:
        """Keep what programs that were put off came to, but for those whose batch is not kept."""
        size, tally = self._plan.batch, Tally()
        done = [each for each in self._done if each[0].number // size not in self._open]
        if not done:
            return
        self._done = [each for each in self._done if each[0].number // size in self._open]
        for late, verdict in done:
            tally.add(late.number, verdict)
            tally.seeded += late.seeded
            tally.mutated += late.mutated
        self._store.commit_late([late for late, _ in done], tally, seconds=self._lap(tally))

    def _lap(self, tally: Tally) -> float:
        """Count what is about to be kept: seconds that have passed since the last of it."""
        now = time.monotonic()
        seconds, self._mark = now - self._mark, now
        self.seconds += seconds
        self.sent += tally.programs
        self.slowest = slowest_of([*self.slowest, *tally.slowest])
        self.probes += tally.probes
        return seconds
