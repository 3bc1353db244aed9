"""Runs cases in contexts at one target, which stays open meanwhile."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from scapy_tfo.runner.interrupts import interrupts_held
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.runner.session import Request, families_of, open_target
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Run
from scapy_tfo.suite.target import Target


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a target without asking it.

    families: 4, 6 or both. listens: it opens listeners made to order. app: of its main listener.
    is_fresh: each case meets a target that has met no other. target: None in simulation, where any
    address can be sent from.
    """

    families: tuple[int, ...]
    listens: bool
    app: str
    is_fresh: bool
    target: Target | None = None

    def has_source(self, value: str) -> bool:
        """Whether two clients can have the addresses of that value of the factor `source`."""
        context = Context.of({"source": value})
        target = self.target
        return target is None or all(
            target.has_sources(context, each) for each in self.families if target.sources(each)
        )


class Bench(Protocol):
    """A target that is open."""

    facts: Facts

    def run(self, cases: Sequence[Case], options: Options) -> Run:
        """Judge the target by cases. Raises TargetError where it cannot be judged."""
        ...


@contextmanager
def opened(request: Request, catalogue: Catalogue) -> Iterator[Bench]:
    """The target of a request. Raises SetupError and TargetError."""
    families = families_of(request)
    if request.target.startswith("sim:"):
        yield _Simulated(request.target, catalogue, families)
        return
    with asyncio.Runner() as loop:
        manager = open_target(request)
        target = loop.run(manager.__aenter__())
        try:
            yield _Live(target, catalogue, families, loop)
        finally:
            loop.run(manager.__aexit__(None, None, None))


def within(options: Options, context: Context) -> Options:
    """The options of a run in one context, which tells nobody of its results."""
    return dataclasses.replace(
        options,
        families=(int(context["family"]),),
        context=context,
        requests=0,
        on_plan=None,
        on_result=None,
        record=None,
    )


class _Simulated:
    def __init__(self, name: str, catalogue: Catalogue, families: tuple[int, ...]) -> None:
        self.facts = Facts(families, listens=True, app="echo", is_fresh=True)
        self._name, self._catalogue = name, catalogue

    def run(self, cases: Sequence[Case], options: Options) -> Run:
        with interrupts_held():
            return simulate(self._name, cases, self._catalogue, options)


class _Live:
    def __init__(
        self,
        target: Target,
        catalogue: Catalogue,
        families: tuple[int, ...],
        loop: asyncio.Runner,
    ) -> None:
        listens = target.hooks is not None and target.offers("listen")
        app = target.main.app.name
        here = tuple(each for each in families if each in target.addresses)
        self.facts = Facts(here, listens=listens, app=app, is_fresh=False, target=target)
        self._target, self._catalogue, self._loop = target, catalogue, loop

    def run(self, cases: Sequence[Case], options: Options) -> Run:
        return self._loop.run(judge(self._target, cases, self._catalogue, options))
