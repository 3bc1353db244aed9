"""Simulates a survey by many workers, and merges what they kept. Sends nothing.

    python bench/scale.py [--workers N] [--servers N] [--stores N] [--played] [--seed N]

The first part is a survey on a clock of its own: a queue hands out leases of some servers, workers
judge them one after the other, some die and their leases are given to others, networks ask to be
left out while it goes on. It prints how polite that was, and checks that the records that came
back, merged in any order, in parts and twice, are the same. The second part makes so many stores of
the fuzzer, each with the batches of one shard, and merges them as `fuzz merge` does, at once and by
way of 32 of them. With --played each store is that of a shard of one campaign, which is played in
simulation; otherwise what it reached is drawn by lot. docs/scale.md explains the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import math
import os
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from scapy_tfo.fuzz.campaign.shard import Job, run_shard
from scapy_tfo.fuzz.findings.merge import merge
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.batches import Late, Tally
from scapy_tfo.fuzz.generation.plan import BATCH, Plan
from scapy_tfo.program.program import Flow, Program, Send

LEASE = 50
"""Servers that a worker is given at a time."""
EXPIRES = 7200.0
"""Seconds after which a lease that did not come back is given to another worker."""
JUDGING = (30.0, 90.0)
"""Seconds that a server takes, at the least and at the most."""
APART = 600.0
"""Seconds between two servers of one network (IPv4 /24, IPv6 /48)."""
TOGETHER = 16
"""Servers of a network, on average."""
DIES = 0.002
"""Of the servers that a worker has judged, behind which it dies."""
LATE = 0.5
"""Of the leases of workers that died, which come back after all: they were cut off."""
OPTS_OUT = 0.01
"""Of the networks, that ask to be left out while the survey goes on."""
HEARS = 60.0
"""Seconds between two looks of a worker at the list of those that asked."""

_MEMORY = "/dev/shm"
_PLAYED = 8
"""Programs of a shard that is played."""

Record = tuple[int, float, int]
"""A server, when its judging began, in seconds, and what came of it."""


@dataclass(slots=True)
class Worker:
    """given: the servers of its lease; lease: those still to be judged. done: its records."""

    given: list[int] = field(default_factory=list)
    lease: deque[int] = field(default_factory=deque)
    done: list[Record] = field(default_factory=list)


@dataclass(slots=True)
class Survey:
    """servers: by number; those of one network are neighbours. records: leases that came back.

    too_late: servers of networks that had asked longer than HEARS ago. closest: seconds between two
    servers of a network. lost: leases that were given again. ended: seconds.
    """

    servers: int
    dice: random.Random
    records: list[list[Record]] = field(default_factory=list)
    judged: int = 0
    left_out: int = 0
    too_late: int = 0
    closest: float = math.inf
    lost: int = 0
    ended: float = 0.0
    _leases: deque[list[int]] = field(default_factory=deque)
    _again: list[tuple[float, list[int]]] = field(default_factory=list)
    _asked: dict[int, float] = field(default_factory=dict)
    _free: dict[int, float] = field(default_factory=dict)

    def run(self, workers: int) -> None:
        """Until each server has a record, or its network has asked to be left out."""
        dice, order = self.dice, list(range(self.servers))
        # Neighbours are far apart in time: no network meets many workers at once.
        dice.shuffle(order)
        self._leases = deque(order[at : at + LEASE] for at in range(0, len(order), LEASE))
        networks = self.servers // TOGETHER + 1
        span = self.servers * sum(JUDGING) / 2 / workers
        for each in dice.sample(range(networks), max(int(networks * OPTS_OUT), 1)):
            self._asked[each] = dice.uniform(0, span)
        busy = [(dice.uniform(0, HEARS), number, Worker()) for number in range(workers)]
        heapq.heapify(busy)
        while busy:
            now, number, worker = heapq.heappop(busy)
            then = self._step(worker, now)
            if then is not None:
                heapq.heappush(busy, (then, number, worker))

    def _step(self, worker: Worker, now: float) -> float | None:
        """One server, or another lease; when the worker goes on, None where nothing is left."""
        if not worker.lease and not self._leased(worker, now):
            return max(now, self._again[0][0]) if self._again else None
        # It looks before each server, and sees a list that is up to HEARS old.
        for _ in range(len(worker.lease)):
            server = worker.lease.popleft()
            network = server // TOGETHER
            if self._asked.get(network, math.inf) <= now - now % HEARS:
                self.left_out += 1
            elif self._free.get(network, 0.0) <= now:
                return self._judge(worker, server, now)
            else:
                worker.lease.append(server)
        if worker.lease:
            return min(self._free[each // TOGETHER] for each in worker.lease)
        return self._back(worker, now)

    def _leased(self, worker: Worker, now: float) -> bool:
        """Give a worker what to do, if there is something."""
        while self._again and self._again[0][0] <= now:
            self._leases.append(heapq.heappop(self._again)[1])
        if not self._leases:
            return False
        worker.given, worker.done = self._leases.popleft(), []
        worker.lease = deque(worker.given)
        return True

    def _judge(self, worker: Worker, server: int, now: float) -> float:
        network = server // TOGETHER
        self.closest = min(self.closest, now - self._free.get(network, -math.inf) + APART)
        self.too_late += now - self._asked.get(network, now) > HEARS
        self._free[network] = now + APART
        self.judged += 1
        worker.done.append((server, now, self.dice.getrandbits(32)))
        ends = now + self.dice.uniform(*JUDGING)
        if self.dice.random() < DIES:
            self.lost += 1
            heapq.heappush(self._again, (ends + EXPIRES, worker.given))
            worker.lease.clear()
            if self.dice.random() >= LATE:
                worker.done = []
        return ends if worker.lease else self._back(worker, ends)

    def _back(self, worker: Worker, now: float) -> float:
        """A lease comes back."""
        self.ended = max(self.ended, now)
        if worker.done:
            self.records.append(worker.done)
            worker.done = []
        return now


def merged(parts: Iterable[Iterable[Record]]) -> sqlite3.Connection:
    """One record for each server, the earliest: the same in any order, and however often."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE record (server INTEGER PRIMARY KEY, began REAL, came INTEGER)")
    for part in parts:
        database.executemany(
            "INSERT INTO record VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET began = excluded.began,"
            " came = excluded.came WHERE (excluded.began, excluded.came) < (began, came)",
            part,
        )
    return database


def digest(database: sqlite3.Connection) -> str:
    """Of all records."""
    found = hashlib.sha256()
    for row in database.execute("SELECT * FROM record ORDER BY server"):
        found.update(repr(row).encode())
    return found.hexdigest()


def in_a_tree(parts: Sequence[Iterable[Record]], dice: random.Random) -> str:
    """The digest, where 32 others merge first, in disorder, and all of it comes twice."""
    some = [*parts, *parts]
    dice.shuffle(some)
    halves = (merged(some[at::32]) for at in range(32))
    whole = merged(half.execute("SELECT * FROM record").fetchall() for half in halves)
    return digest(whole)


def survey(servers: int, workers: int, seed: int) -> bool:
    """The first part; whether all that is promised held."""
    dice = random.Random(seed)
    began = time.process_time()
    it = Survey(servers, dice)
    it.run(workers)
    simulated = time.process_time()
    one, tree = digest(merged(it.records)), in_a_tree(it.records, dice)
    seconds = time.process_time() - simulated
    least = servers * sum(JUDGING) / 2 / workers / 3600
    same = "the same" if one == tree else "DIFFERENT"
    print(
        f"{servers:,} servers, {workers:,} workers: {it.ended / 3600:.1f} h, at least {least:.1f}"
    )
    print(f"  judged {it.judged:,} times, left out on request {it.left_out:,} times")
    print(f"  leases lost with their workers and given again: {it.lost:,}")
    print(f"  two servers of one network at least {it.closest:.0f} s apart ({APART:.0f} asked)")
    print(f"  sent to networks that had asked more than {HEARS:.0f} s before: {it.too_late}")
    print(f"  merged in order, and by way of 32 in disorder and twice: {same}")
    print(f"  CPU: simulated in {simulated - began:.1f} s, merged in {seconds:.1f} s")
    return one == tree and not it.too_late and it.closest >= APART


@dataclass
class Done:
    """A batch as it is kept. See fuzz.generation.batches.Outcome."""

    number: int
    tally: Tally
    late: list[Late] = field(default_factory=list)
    taken: int = BATCH

    def program(self, number: int) -> Program:
        """One that was sent."""
        return Program((Flow(),), (Send(),), f"program {number}")


def stores(count: int, seed: int, *, are_played: bool) -> bool:
    """The second part; whether both ways of merging came to the same."""
    dice = random.Random(seed)
    names = [f"edge {number}" for number in range(9000)]
    # A disk would be waited for a few times for each store.
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        place = Path(directory)
        began = time.process_time()
        if are_played:
            paths = [_played(place / f"{n}.sqlite", (n + 1, count), seed) for n in range(count)]
        else:
            paths = [
                _store(place / f"{n}.sqlite", (n + 1, count), names, dice) for n in range(count)
            ]
        size = sum(each.stat().st_size for each in paths)
        made, before = time.process_time(), _most_memory()
        with closing(merge(place / "whole.sqlite", paths)) as whole:
            one = whole.coverage(), whole.totals()
        at_once = time.process_time()
        middle = []
        for number in range(min(32, count)):
            path = place / f"middle-{number}.sqlite"
            merge(path, paths[number::32]).close()
            middle.append(path)
        with closing(merge(place / "again.sqlite", middle)) as again:
            same = one == (again.coverage(), again.totals())
        ended, most = time.process_time(), _most_memory()
        size_told = f"{size / 2**20:.0f} MiB, made in {made - began:.1f} s of CPU"
        print(f"{count:,} stores of the fuzzer, {size_told}")
        once, by_way = at_once - made, ended - at_once
        print(f"  CPU: merged at once in {once:.1f} s, by way of 32 in {by_way:.1f} s")
        print(f"  memory: {before:.0f} MiB at most before it was merged, {most:.0f} MiB at its end")
        print(f"  {one[1].programs:,} programs")
        print(f"  {'the same' if same else 'DIFFERENT'}, {len(one[0]):,} edges covered")
    return same


def _most_memory() -> float:
    """The most that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _played(path: Path, shard: tuple[int, int], seed: int) -> Path:
    """The store of a shard with one batch, which was played."""
    job = Job(target="sim:reference", seed=seed, programs=shard[1] * _PLAYED, batch=_PLAYED)
    path.write_bytes(run_shard(job, shard, lambda _: False))
    return path


def _store(path: Path, shard: tuple[int, int], names: Sequence[str], dice: random.Random) -> Path:
    """The store of a shard with one batch, which reached some of what there is."""
    plan = Plan(target="sim:reference", profile="rfc", grammar="1", shard=shard)
    number = shard[0] - 1
    # What is common is reached by most, what is rare by few.
    reached = {names[int(len(names) * dice.random() ** 3)] for _ in range(200)}
    first = {each: number * BATCH + dice.randrange(BATCH) for each in sorted(reached)}
    tally = Tally(programs=BATCH, probes=8 * BATCH, heard=7 * BATCH, first=first)
    with closing(Store.create(path, plan)) as store:
        store.commit(Done(number, tally), seconds=1.0)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--workers", type=int, default=1000, metavar="N")
    add("--servers", type=int, default=100_000, metavar="N")
    add("--stores", type=int, default=40, metavar="N", help="0: the first part alone")
    add("--played", action="store_true", help="stores of campaigns in simulation")
    add("--seed", type=int, default=1, metavar="N")
    chosen = parser.parse_args()
    held = survey(chosen.servers, chosen.workers, chosen.seed)
    if chosen.stores:
        held &= stores(chosen.stores, chosen.seed, are_played=chosen.played)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
