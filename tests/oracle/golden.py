"""Digests of what the oracle concludes about generated programs, which show that it stays so.

    python -m tests.oracle.golden               compare what the test compares (seconds)
    python -m tests.oracle.golden --blocks 20   compare 5,000 seeds at each target too (minutes)
    python -m tests.oracle.golden --write --blocks 20   make golden.json anew
    python -m tests.oracle.golden --show sim:NAME SEED    print what one digest is made of

A program of the grammar is run at the reference and at mutants of different rules. After each
event (the start, a packet of the target's, a deadline) everything that is known of each flow goes
into the digest, under the names of `KNOWN`, and at the end every violation. The digests also depend
on the grammar, the mutants and the reference: a change of those makes them anew, a rearrangement of
the oracle does not change them.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from scapy_tfo.executor.play import Play
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.oracle.obligations import debt_of
from scapy_tfo.oracle.parts.reassembly import Assembly
from scapy_tfo.program.program import Program, from_json

HERE = Path(__file__).resolve().parent
FILE = HERE / "golden.json"
HUNTED = HERE.parents[1] / "docs" / "generated" / "fuzz-mutants.json"

FEW = range(24)
"""Seeds that the test runs at each target."""
BLOCK = 250
BLOCKS = 20
"""Blocks of seeds of the full comparison: 5,000 seeds."""
MUTANTS = 60
_BYTES = 6
"""Of a digest: chance does not make two alike among some thousand."""

KNOWN: dict[str, str] = {
    "states": "states",
    "vague": "vague",
    "pristine": "history.pristine",
    "unsettled": "owed.unsettled",
    "heard": "evidence.heard",
    "frozen": "evidence.frozen",
    "features": "evidence.features",
    "base": "outbound.base",
    "rule": "handshake.rule",
    "offer": "handshake.offer",
    "other_offers": "handshake.other_offers",
    "syn_size": "handshake.size",
    "syn_fin": "handshake.fin",
    "asks_for_ecn": "history.asks_for_ecn",
    "iss": "handshake.iss",
    "taken": "handshake.taken",
    "accepted": "handshake.accepted",
    "syn_at": "handshake.syn_at",
    "perhaps_early": "handshake.perhaps_early",
    "syn_acks": "handshake.syn_acks",
    "syn_ack_at": "handshake.syn_ack_at",
    "opened_at": "handshake.opened_at",
    "reset_at": "history.reset_at",
    "may": "outbound.may",
    "must": "outbound.must",
    "sent_end": "outbound.sent_end",
    "sent_text": "outbound.sent_text",
    "odd_text": "outbound.odd_text",
    "acked": "outbound.acked",
    "newest": "inbound.newest",
    "pushed": "outbound.pushed",
    "theirs": "inbound.stream",
    "received": "inbound.received",
    "their_fin": "inbound.fin",
    "our_ack": "inbound.our_ack",
    "sure_ack": "inbound.sure_ack",
    "may_ack": "inbound.may_ack",
    "widest": "inbound.widest",
    "perhaps_reset_at": "history.perhaps_reset_at",
    "room_end": "outbound.room_end",
    "limit": "inbound.limit",
    "edge": "inbound.edge",
    "edge_at": "inbound.edge_at",
    "mss": "inbound.mss",
    "scale": "inbound.scale",
    "sack": "inbound.sack",
    "timestamps": "times.agreed",
    "times_open": "times.open",
    "times_sent": "times.sent",
    "times_must": "times.must",
    "times_may": "times.may",
    "times_settled": "times.settled",
    "last_tsval": "times.last",
    "echo": "times.echo",
    "cookie": "history.cookie",
    "answer": "history.answer",
    "releases": "history.releases",
    "wants_rst": "owed.rst",
    "wants_answer": "owed.answer",
    "answers_wanted": "owed.answers",
    "rst_pardoned": "owed.rst_pardoned",
    "rst_overtaken": "owed.rst_overtaken",
    "their_last": "timers.heard_at",
    "their_repeats": "timers.repeats",
    "progress_at": "timers.progress_at",
    "slowest": "timers.slowest",
}
"""Lasting name of each thing that is known of a flow -> where a connection has it today. A name
that goes, or one that is new, changes all digests."""

_VALUES = attrgetter(*KNOWN.values())


def knowledge(link: Any) -> str:
    """Everything that is known of a flow, and what is owed on it."""
    debt = debt_of(link)
    owed = None if debt is None else (debt.rule, debt.requirement, debt.group, debt.expected)
    return repr(([_plain(each) for each in _VALUES(link)], owed))


def _plain(value: object) -> object:
    if isinstance(value, Assembly):
        return value.next, value.fin, value.gaps
    return sorted(value) if isinstance(value, set | frozenset) else value


class Recorded:
    """A play that notes what is known after each event. It holds the play and is none: a compiled
    class has no interpreted ones under it."""

    def __init__(self, notes: list[str], *given: Any, **more: Any) -> None:
        self._notes = notes
        self._play = Play(*given, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._play, name)

    def begin(self, now: float) -> None:
        self._play.begin(now)
        self._note("begin", now)

    def arrive(self, index: int, packet: bytes, now: float) -> None:
        self._play.arrive(index, packet, now)
        self._note(f"arrive {index}", now)

    def on_timer(self, now: float) -> None:
        self._play.on_timer(now)
        self._note("timer", now)

    def _note(self, event: str, now: float) -> None:
        self._notes.append(f"{event} {now!r} {self._play.deadline!r}")
        self._notes += [knowledge(link) for link in self._play.links]


class Recorder:
    """Runs programs at one target, and keeps what is known after each event."""

    def __init__(self, target: str) -> None:
        self._bench = SimulatedBench(target)
        # The rules of plain TCP know nothing of the model.
        self._bench.counts.every = 0
        self._notes: list[str] = []
        self._bench.play_of = cast("Callable[..., Play]", partial(Recorded, self._notes))

    def run(self, program: Program, *, keep: bool) -> list[str]:
        """All that is known in the course of a program. keep: it goes on behind a violation."""
        self._notes.clear()
        try:
            if keep:
                verdict, _ = self._bench.trace(program)
            else:
                ((_, verdict),) = self._bench.run([(0, program)])
        except ValueError as error:
            # A cookie that this target grants makes more options than a header holds.
            return [*self._notes, str(error)]
        return [*self._notes, *_judged(verdict)]

    def digest(self, programs: Iterable[tuple[int, Program]]) -> str:
        """Of several programs; those of odd numbers go on behind a violation."""
        whole = hashlib.blake2b(digest_size=_BYTES)
        for number, program in programs:
            for line in self.run(program, keep=bool(number % 2)):
                whole.update(line.encode() + b"\n")
        return whole.hexdigest()


def _judged(verdict: Verdict) -> Iterator[str]:
    yield f"{sorted(verdict.reached)} {verdict.sent} {verdict.heard} {verdict.unjudged}"
    for each in verdict.violations:
        # What is wrong with a cookie is told of the program, not of what the oracle knows.
        yield repr(dataclasses.astuple(dataclasses.replace(each, cookie=""))[:-1])


def generated(seeds: Iterable[int]) -> Iterator[tuple[int, Program]]:
    """Programs of the grammar, by seed."""
    return ((seed, program_for(seed)) for seed in seeds)


def witness(target: str) -> list[tuple[int, Program]]:
    """The program that shows a mutant, both ways; none for the reference."""
    held = json.loads(HUNTED.read_text(encoding="utf-8"))["mutants"]
    found = held.get(target.removeprefix("sim:"), {})
    return [(each, from_json(found["witness"])) for each in (0, 1) if "witness" in found]


def few(target: str) -> str:
    """The digest that the test compares."""
    return Recorder(target).digest([*witness(target), *generated(FEW)])


def blocks(count: int, target: str) -> list[str]:
    """The digests of the first blocks of seeds."""
    recorder = Recorder(target)
    starts = range(0, BLOCK * count, BLOCK)
    return [recorder.digest(generated(range(each, each + BLOCK))) for each in starts]


def chosen() -> list[str]:
    """The reference, and mutants that break as many rules as there are, each in its turn."""
    held = json.loads(HUNTED.read_text(encoding="utf-8"))["mutants"]
    by_rule: dict[str, list[str]] = {}
    for name, each in sorted(held.items()):
        if "rule" in each:
            by_rule.setdefault(each["rule"], []).append(f"sim:{name}")
    turns = max(map(len, by_rule.values()))
    order = [
        names[turn]
        for turn in range(turns)
        for _, names in sorted(by_rule.items())
        if turn < len(names)
    ]
    return ["sim:reference", *sorted(order[:MUTANTS])]


def held() -> dict[str, Any]:
    """The committed digests: of each target "few" and "blocks"."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def main(arguments: Sequence[str]) -> int:
    """See the module; 1 if a digest is another one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--blocks", type=int, default=0, metavar="N", help=f"of {BLOCK} seeds, {BLOCKS} at most"
    )
    parser.add_argument("--write", action="store_true", help="make golden.json anew")
    parser.add_argument("--show", nargs=2, metavar=("TARGET", "SEED"), help="print one run")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    given = parser.parse_args(arguments)
    if given.show:
        seed = int(given.show[1])
        print(*Recorder(given.show[0]).run(program_for(seed), keep=bool(seed % 2)), sep="\n")
        return 0
    targets = chosen() if given.write else list(held())
    with ProcessPoolExecutor(given.jobs) as pool:
        made: dict[str, Any] = {
            name: {"few": digest}
            for name, digest in zip(targets, pool.map(few, targets), strict=True)
        }
        long = pool.map(partial(blocks, given.blocks), targets)
        for name, found in zip(targets, long, strict=True):
            made[name]["blocks"] = found
    if given.write:
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(made[name])}" for name in made)
        FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        return 0
    wrong = differences(made)
    print(*wrong or ["all digests are as they were"], sep="\n")
    return int(bool(wrong))


def differences(made: dict[str, Any]) -> list[str]:
    """Where digests differ from the committed ones, in lines."""
    wrong = []
    for name, digests in made.items():
        was = held()[name]
        if digests["few"] != was["few"]:
            wrong.append(f"{name}: its witness, or a seed up to {FEW[-1]}")
        pairs = zip(digests.get("blocks", ()), was["blocks"], strict=False)
        wrong += [
            f"{name}: seeds {at * BLOCK} to {(at + 1) * BLOCK - 1}"
            for at, (now, before) in enumerate(pairs)
            if now != before
        ]
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
