"""Judges the target that a user names: resolves it, opens it, runs the cases, closes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from scapy_tfo import spec, tcp_rules
from scapy_tfo.errors import SetupError, none_of
from scapy_tfo.lab.hooks import NotOfferedError
from scapy_tfo.runner.interrupts import interrupts_held
from scapy_tfo.runner.judging.causes import explained
from scapy_tfo.runner.judging.known_failures import KnownFailure, load_known, mark_known
from scapy_tfo.runner.judging.verdicts import case_ids, with_breaches
from scapy_tfo.runner.record import BrokenOffError, Record, doubted
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.stacks.small_port import told_wait
from scapy_tfo.suite.registry import Case, all_conversations, select
from scapy_tfo.suite.result import Run
from scapy_tfo.suite.target import Target
from scapy_tfo.targets.endpoint import parse_endpoint, resolve
from scapy_tfo.targets.naming import stack_of
from scapy_tfo.targets.own import is_in_memory, open_lab
from scapy_tfo.targets.reached import Reach, addresses_of, file_of, reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user asks to be judged, and how.

    target: HOST[:PORT], a target file, one of LABS, sim:reference, or lab:NAME or sim:NAME of a
    mutant. app: echo, http, none, or None for what the target is known to run. sources: addresses
    to send from. plain_port, second_port: ports of listeners with fast open off, and on.
    small_port: of an echo with a limit of stacks.file.SMALL pending fast opens. app_ports: of
    listeners with fast open, by application. sysctls: set in the namespace of a lab target.
    label: the user's name for the run.
    """

    target: str
    app: str | None = None
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    known: Path | None = None
    sources: Sequence[str] = ()
    iface: str | None = None
    plain_port: int | None = None
    second_port: int | None = None
    small_port: int | None = None
    app_ports: Mapping[str, int] = field(default_factory=dict)
    sysctls: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    options: Options = field(default_factory=Options)

    @property
    def is_ours(self) -> bool:
        """A target of our own making, where intrusive cases disturb nobody."""
        return self.target.startswith(("lab:", "sim:"))

    @property
    def is_in_memory(self) -> bool:
        """Without a network: the path can be impaired, and all that is random has one seed."""
        return self.target.startswith("sim:") or is_in_memory(self.target)


def chosen_cases(request: Request) -> tuple[Case, ...]:
    """The cases that the request selects. Raises SetupError for an entry that matches none."""
    return select(all_conversations(), request.only, request.exclude)


def families_of(request: Request) -> tuple[int, ...]:
    """The families, 4 and 6, at which a target will be judged."""
    wanted = tuple(request.options.families or (4, 6))
    if request.is_ours:
        return wanted
    file = file_of(request.target)
    if file is not None:
        found = addresses_of(file.addresses, wanted)
    else:
        found = resolve(parse_endpoint(request.target)[0], wanted)
    return tuple(each for each in (4, 6) if each in found)


Judge = Callable[[Request, Sequence[Case], spec.Catalogue], Run]


def run(request: Request, judged: Judge | None = None) -> Run:
    """Judge what is asked for, from start to end. judged: what judges, else `judge_once`.

    Raises SetupError for wrong usage or set-up, TargetError where the target cannot be judged, and
    BrokenOffError, with what was finished, where it is interrupted.
    """
    catalogue = spec.load()
    cases = chosen_cases(request)
    rules = tcp_rules.load()
    known = _known(request.known, rules) if request.known else ()
    if request.options.impairment is not None and not request.is_in_memory:
        raise SetupError(
            "--impair works only with sim:NAME, lab:reference and lab:NAME of a mutant"
        )
    if request.sysctls and not request.target.startswith("lab:"):
        raise SetupError("--sysctl works only with lab: targets, which have their own namespace")
    if request.is_ours:
        _must_leave_to_us(request)
        request = replace(request, options=replace(request.options, intrusive=True))
    elif (file := file_of(request.target)) is not None and file.intrusive:
        request = replace(request, options=replace(request.options, intrusive=True))
    if request.target.startswith("sim:") and request.options.requests:
        raise SetupError("--connections does not go with sim: targets, each of which is one server")
    stack = stack_of(request.target)
    record, started, clock = Record(), time.time(), time.monotonic()
    options = replace(
        request.options,
        on_plan=record.planning(request.options.on_plan),
        on_result=record.taking(request.options.on_result),
        record=record,
    )
    request = replace(request, options=options)
    try:
        done = (judged or judge_once)(request, cases, catalogue)
    except KeyboardInterrupt:
        if not record.results:
            raise none_of(len(cases), "cases was judged") from None
        done = record.run(request.target, started, time.monotonic() - clock)
        if request.options.impairment is not None:
            done = replace(done, results=tuple(map(doubted, done.results)))
    if request.options.context.values:
        told = f"each case was run in the context {request.options.context}, but for what it sets"
        done = replace(done, notes=(f"{told} itself", *done.notes))
    done = with_breaches(replace(done, results=explained(done.results)), rules)
    done = replace(done, results=mark_known(done.results, known), stack=stack, label=request.label)
    if done.interrupted:
        raise BrokenOffError(done)
    return done


def _known(path: Path, rules: tcp_rules.TcpRules) -> tuple[KnownFailure, ...]:
    told = (each.id for each in all_conversations())
    return load_known(path, (*told, *(name for each in rules.values() for name in case_ids(each))))


def judge_once(request: Request, cases: Sequence[Case], catalogue: spec.Catalogue) -> Run:
    """Run each case once. Raises as `run`."""
    if request.target.startswith("sim:"):
        from scapy_tfo.runner.simulation import simulate

        with interrupts_held():
            return simulate(request.target, cases, catalogue, request.options)
    return asyncio.run(_run_live(request, cases, catalogue))


def _must_leave_to_us(request: Request) -> None:
    given = {
        "--app": request.app,
        "--source": request.sources,
        "--iface": request.iface,
        "--plain-port": request.plain_port,
        "--second-port": request.second_port,
        "--small-port": request.small_port,
        "--app-port": request.app_ports,
    }
    needless = [option for option, value in given.items() if value]
    if needless:
        raise SetupError(
            f"{', '.join(needless)} cannot be given for {request.target}, which brings its own"
        )


async def _run_live(request: Request, cases: Sequence[Case], catalogue: spec.Catalogue) -> Run:
    async with open_target(request) as target:
        options = request.options
        if options.on_note and options.intrusive:
            note = told_wait(target, cases, options.families, slow=options.slow)
            if note:
                options.on_note(note)
        try:
            return await judge(target, cases, catalogue, options)
        except NotOfferedError as error:
            # A case that asks for too much is skipped: it is the context that does.
            raise SetupError(f"--context {request.options.context}: {error}") from None


@asynccontextmanager
async def open_target(request: Request) -> AsyncIterator[Target]:
    """The live target that a request names; everything is given back at the end."""
    if request.target.startswith("lab:"):
        options = request.options
        async with open_lab(
            request.target, request.sysctls, impairment=options.impairment, seed=options.seed
        ) as target:
            yield target
        return
    if request.target.startswith("sim:"):
        raise SetupError(f"{request.target} is simulated and has no address")
    async with reached(reach_of(request)) as target:
        yield target


def reach_of(request: Request) -> Reach:
    """How its target is reached, where it is not one of ours."""
    named = {
        "plain": request.plain_port,
        "second": request.second_port,
        "small": request.small_port,
    }
    return Reach(
        target=request.target,
        app=request.app,
        families=request.options.families,
        iface=request.iface,
        sources=request.sources,
        ports={role: port for role, port in named.items() if port is not None},
        standing=request.app_ports,
    )
