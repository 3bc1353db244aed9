"""A long life: one world grows old, by one sort of event after the other, and is audited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.ages import AGES, LISTENER, Age
from scapy_tfo.explore.audits import Served, compared, served
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Problem, Run
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.variants.registry import named

FIRST = (
    Schedule("good", LISTENER, "write-end:100"),
    Schedule("request", LISTENER, "two-writes:100"),
    Schedule("refused", LISTENER, "write-close:100"),
    Schedule("plain", LISTENER, "write:4000"),
)
"""What a new world is asked, and is asked again at each audit: it gives what it gave."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a target does no more, or otherwise. after: what had happened since the audit before,
    one line."""

    after: str
    problem: Problem


@dataclass(slots=True)
class Lived:
    """A long life. passed: how often each age's event happened. audits: that found nothing, and
    the one that found something, if any. days: on the virtual clock. complete: all ages passed."""

    target: str
    seed: int
    passed: dict[str, int] = field(default_factory=dict)
    audits: int = 0
    days: float = 0.0
    changes: list[Change] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class _State:
    """What an audit sees."""

    served: Served
    given: tuple[tuple[object, ...], ...]
    wrong: tuple[str, ...]


class Life:
    """name: of a simulated stack, without `sim:`. stop: asked before each event.

    Raises SetupError where there is no such stack, TargetError where it is not to be judged.
    """

    def __init__(
        self, name: str, *, seed: int = 0, stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._world = World(named(name), SimulatedBench(f"sim:{name}").profile, seed)
        self._stop = stop
        self._result = Lived(f"sim:{name}", seed)

    def live(self, ages: tuple[Age, ...] = AGES) -> Lived:
        """Grow old, until an audit finds something, or until it is stopped."""
        result = self._result
        first = self._state()
        for age in ages:
            for most in age.counts:
                result.complete = result.complete and self._grow(age, most)
                self._audit(first, f"{result.passed.get(age.says, 0):,} {age.says}")
                if result.changes or not result.complete:
                    return result
        return result

    def _grow(self, age: Age, most: int) -> bool:
        """Let the event of an age happen until it did so often; whether there was time."""
        passed = self._result.passed
        while (number := passed.get(age.says, 0)) < most:
            if self._stop():
                return False
            age.step(self._world, number)
            passed[age.says] = number + 1
        return True

    def _audit(self, first: _State, after: str) -> None:
        result = self._result
        result.audits += 1
        now = self._state()
        problems = compared(first.served, now.served)
        for schedule, one, two in zip(FIRST, first.given, now.given, strict=True):
            if one != two:
                problems.append(Problem(f"gives otherwise: {schedule}", -1, str(one), str(two)))
        fresh = [rule for rule in now.wrong if rule not in first.wrong]
        problems += [Problem(rule, -1, "no breach, as at first", "a breach") for rule in fresh]
        result.changes += [Change(after, each) for each in problems]
        result.days = self._world.now / 86_400

    def _state(self) -> _State:
        now = served(self._world, LISTENER)
        runs = [Play(self._world, schedule).play() for schedule in FIRST]
        rules = {problem.rule for run in runs for problem in judged(run)} - advice()
        return _State(now, tuple(map(_given, runs)), tuple(sorted(rules)))


def _given(run: Run) -> tuple[object, ...]:
    """What a conversation comes to: bytes that came each way, ends, whether it was reset."""
    server, client = run.server, run.client
    return (
        len(server.received),
        len(client.received),
        server.eof,
        client.eof,
        "reset" if run.reset else "in order",
    )
