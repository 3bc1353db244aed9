"""A campaign as a boofuzz session: its graph, connection and monitors around our bench.

Importing this module imports boofuzz, which is an optional extra: the command checks first that it
is installed. Costly defaults of boofuzz are switched off here: pauses after failures, the end of a
node after a few of them, and a count of all mutations before each case.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import boofuzz
from boofuzz import exception
from boofuzz.connections import ITargetConnection

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.fuzz.boofuzz.cases import (
    FAST_OPEN,
    PATHS,
    PATIENCE,
    PATIENT_SHARE,
    REQUEST,
    TEARDOWN,
    VOLLEY,
    Deck,
    encoded,
    valid,
)
from scapy_tfo.fuzz.boofuzz.runner import Outcome, Runner
from scapy_tfo.fuzz.campaign.liveness import Patient
from scapy_tfo.fuzz.generation.batches import Maker
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.segment import MalformedPacketError, Segment

LIVENESS_EVERY = 10.0
"""Seconds between looks at a target that gives no cause for one: on the wire one takes a second."""

_NEVER = 1 << 62
"""Failures after which boofuzz leaves something out."""

_PIECE = 512
"""Bytes: boofuzz cuts what is longer in the log of a case that passes."""

_OF_SYNS = ("Passive", "PassiveFail", "CookieReqd", "ListenOverflow")
"""Counters of which a SYN raises one at most, without their TCPFastOpen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a session shall be.

    cases: of all nodes together. node: that has them all, None for each its share. single: one
    program a case, with its packets. patience: also programs that wait for long. only: number of a
    case that alone is run. web_port: of the web UI, None for none.
    """

    cases: int
    node: str | None = None
    single: bool = False
    patience: bool = False
    only: int | None = None
    web_port: int | None = None


class BenchConnection(ITargetConnection):
    """Sends encoded cases; what comes back is a line about the answers."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def open(self) -> None:
        """The bench is open for the whole session."""

    def close(self) -> None:
        """The bench is its owner's to close."""

    def send(self, data: bytes) -> int:
        self._runner.send(data)
        return len(data)

    def recv(self, max_bytes: int) -> bytes:
        return self._runner.outcome.line.encode()[:max_bytes]

    @property
    def info(self) -> str:
        return self._runner.bench.name


class Cases(boofuzz.Fuzzable):
    """The encoded cases of a node as mutations of what it sends when nothing is wrong."""

    def __init__(
        self, default: bytes, cases: Callable[[], Iterator[bytes]], count: int, name: str
    ) -> None:
        super().__init__(name=name, default_value=default, fuzzable=count > 0)
        self._cases = cases
        self._count = count

    def mutations(self, default_value: bytes) -> Iterator[bytes]:
        yield from self._cases()

    def num_mutations(self, default_value: bytes | None = None) -> int:
        """Known, where boofuzz would go through all of them, before each case."""
        return self._count


class Monitor(boofuzz.BaseMonitor):
    """What one oracle says of a case. A case fails where `check` says why."""

    name = ""

    def __init__(self, runner: Runner) -> None:
        super().__init__()
        self.runner = runner
        self._why = ""

    def __str__(self) -> str:
        return self.name

    def check(self, log: Any, session: Any) -> str:
        """Why the case fails, "" where it does not."""
        raise NotImplementedError

    def post_send(self, *, fuzz_data_logger: Any, session: Any, **_: Any) -> bool:
        self._why = self.check(fuzz_data_logger, session)
        for line in self._why.splitlines():
            cause = line.partition(": ")[0]
            self.runner.causes.setdefault(cause, (session.total_mutant_index, line))
        return not self._why

    def get_crash_synopsis(self) -> str:
        return self._why


class Counters(Monitor):
    """The target's own counters: none goes back, and no SYN is counted twice."""

    name = "counters"

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._before: dict[str, int] = {}

    def pre_send(self, **_: Any) -> None:
        # It stands first of all monitors.
        self.runner.begin()
        self._before = self._read()

    def check(self, log: Any, session: Any) -> str:
        after = self._read()
        outcome = self.runner.outcome
        rose = {name: after[name] - self._before.get(name, 0) for name in after}
        told = ", ".join(f"{name} +{by}" for name, by in rose.items() if by)
        if told:
            log.log_info(f"counters: {told}")
        back = [name for name, by in rose.items() if by < 0]
        if back:
            return f"counters went back: {', '.join(back)}"
        opened = sum(rose.get(f"TCPFastOpen{name}", 0) for name in _OF_SYNS)
        most = outcome.syns + 2 * outcome.tally.probes
        # What was sent to a target that has gone is not known.
        if opened <= most or outcome.trouble:
            return ""
        return f"{opened} fast opens counted for {most} segments"

    def _read(self) -> dict[str, int]:
        try:
            return self.runner.bench.counters()
        except TargetError:
            return {}


class Violations(Monitor):
    """The model: each reply is one that it allows, and what is owed comes."""

    name = "model"

    def check(self, log: Any, session: Any) -> str:
        outcome = self.runner.judge()
        log.log_info(outcome.line)
        if outcome.program is not None:
            # What was sent stands in the log already, but boofuzz cuts it short.
            log.log_info(f"program: {encoded(outcome.program).decode()}")
            log_packets(log, outcome.packets)
        for line in outcome.unsteady:
            log.log_info(line)
        for each in outcome.shown:
            log.open_test_step(each.line)
            if outcome.program is None:
                number = "" if each.number is None else f" {each.number}"
                log.log_info(f"program{number}: {encoded(each.program).decode()}")
                log_packets(log, each.packets)
        return "\n".join(each.line for each in outcome.shown)


class Liveness(Monitor):
    """A control handshake and a valid fast open: from time to time, and when there is cause."""

    name = "liveness"

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._last = monotonic()

    def check(self, log: Any, session: Any) -> str:
        outcome = self.runner.outcome
        is_last = session.total_mutant_index == session.total_num_mutations
        silent = outcome.tally.silent * 2 > outcome.tally.programs
        is_due = monotonic() - self._last >= LIVENESS_EVERY
        if not (outcome.trouble or silent or is_due or is_last):
            return ""
        ill = self.runner.patient.ails() or outcome.trouble
        self._last = monotonic()
        if not ill:
            log.log_info("alive: a control handshake and a valid fast open succeed")
        return ill

    def restart_target(self, *, fuzz_data_logger: Any, **_: Any) -> bool:
        """Bring a dead target back. Never True: boofuzz would sleep for three seconds then."""
        if self._why:
            try:
                self.runner.patient.revive()
            except TargetError as error:
                raise exception.BoofuzzRestartFailedError(str(error)) from error
            fuzz_data_logger.log_info("the target was opened anew")
        return False


def log_packets(log: Any, packets: Sequence[TracedPacket]) -> None:
    """Each as a step of its own, in words and in bytes."""
    for number, each in enumerate(packets):
        arrow = "sent" if each.outbound else "came"
        log.open_test_step(f"packet {number}, {arrow} at {each.when:.6f} s: {_words(each.data)}")
        for at in range(0, len(each.data), _PIECE):
            (log.log_send if each.outbound else log.log_recv)(each.data[at : at + _PIECE])


def _words(packet: bytes) -> str:
    try:
        return str(Segment.from_bytes(packet))
    except MalformedPacketError as error:
        return f"{len(packet)} bytes, {error}"


def shares(wishes: Wishes, *, live: bool, fires: bool) -> dict[str, int]:
    """How many cases each node has. live: its time is real. fires: it can be sent volleys.

    Raises SetupError where the target has no such node.
    """
    nodes = [REQUEST, FAST_OPEN, TEARDOWN]
    if fires and not wishes.single:
        nodes.append(VOLLEY)
    each, more = divmod(wishes.cases, len(nodes))
    counts = {node: each + (at < more) for at, node in enumerate(nodes)}
    if live and wishes.patience:
        counts[PATIENCE] = each if wishes.single else -(-max(each, 1) // PATIENT_SHARE)
    if wishes.node is None:
        return counts
    if wishes.node not in counts:
        raise SetupError(f"--node {wishes.node}: give one of {', '.join(counts)}")
    return {node: wishes.cases if node == wishes.node else 0 for node in counts}


class Campaign:
    """A session that is ready to run. database: a new file.

    Raises SetupError where the database cannot be made, or there is no such node.
    """

    def __init__(
        self,
        plan: Plan,
        make: Maker,
        patient: Patient,
        database: Path,
        wishes: Wishes,
        *,
        fires: bool,
        on_case: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        self.runner = Runner(Deck(plan, make), patient, on_case)
        self.counts = shares(wishes, live=plan.live, fires=fires)
        self.database = database
        monitors = [kind(self.runner) for kind in (Counters, Violations, Liveness)]
        try:
            self.session = boofuzz.Session(
                target=boofuzz.Target(BenchConnection(self.runner), monitors=monitors),
                db_filename=str(database),
                index_start=wishes.only or 1,
                index_end=wishes.only,
                web_port=wishes.web_port,
                keep_web_open=False,
                fuzz_loggers=[],
                restart_sleep_time=0,
                crash_threshold_request=_NEVER,
                crash_threshold_element=_NEVER,
                receive_data_after_fuzz=True,
                reuse_target_connection=True,
            )
        except (OSError, sqlite3.Error) as error:
            raise SetupError(f"cannot create {database}: {error}") from error
        self._connect(wishes)

    def _connect(self, wishes: Wishes) -> None:
        deck = self.runner.deck
        requests = {
            node: boofuzz.Request(
                node,
                children=(
                    Cases(
                        encoded(valid(node)),
                        _encoding(deck.singles if wishes.single else deck.cases, node, count),
                        count,
                        "programs",
                    ),
                ),
            )
            for node, count in self.counts.items()
        }
        for node, request in requests.items():
            path = PATHS[node]
            self.session.connect(requests[path[-1]] if path else self.session.root, request)

    @property
    def failures(self) -> dict[int, list[str]]:
        """Why cases failed, by number."""
        failed: dict[int, list[str]] = self.session.monitor_results
        return failed

    def run(self) -> None:
        """Run all cases. Raises TargetError where the target has gone for good, SetupError where
        the database cannot be written."""
        try:
            self.session.fuzz(max_depth=1)
        except exception.BoofuzzRestartFailedError as error:
            raise TargetError(str(error)) from error
        except sqlite3.Error as error:
            raise SetupError(f"cannot write {self.database}: {error}") from error


def _encoding(
    cases: Callable[[str, int], Iterator[Any]], node: str, count: int
) -> Callable[[], Iterator[bytes]]:
    return lambda: map(encoded, cases(node, count))
