"""Runs scripts against a target that runs nothing of ours: sends their packets over a link."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from scapy_tfo.address import known_address
from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.checks.lint import refuse_nonsense
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings, with_options
from scapy_tfo.pkt.local.pool import Answer
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.flows import Flows, clients
from scapy_tfo.pkt.play.leftover import Application
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.remote.actions import APPS, Assumed, assumptions
from scapy_tfo.pkt.remote.listeners import listeners, ports_of
from scapy_tfo.pkt.remote.player import RemotePlayer
from scapy_tfo.pkt.remote.wire import MOST_HEARD, RemoteWire
from scapy_tfo.runner.clock import VirtualLoop, end_loop
from scapy_tfo.runner.interrupts import interrupts_held, run_until_interrupted
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, open_target
from scapy_tfo.suite.control import Control, PathRecord
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.suite.target import Target

TOLERANCE = 250_000_000
"""ns by which a packet may be off where nobody says it: the target's own scheduling is unknown. The
round trip is forgiven on top of it."""

_TOLERANCE = "tolerance_usecs"


@dataclass(frozen=True, slots=True)
class _Ready:
    """A script that such a target could run."""

    script: tree.Script
    settings: Settings
    notes: list[str]


def run_remote(
    tasks: Sequence[Task],
    target: str,
    *,
    app: str = "echo",
    sources: Sequence[str] = (),
    iface: str | None = None,
    ports: Mapping[str, int] | None = None,
) -> Iterator[tuple[int, Answer]]:
    """Run scripts one after the other, and give each one's number and outcome when it ends.

    target: HOST:PORT, lab:NAME or sim:NAME, as of `scapy-tfo test`. app: what listens there, one
    of APPS. sources: addresses to send from. ports: where else it listens, by role: see
    stacks.file.ROLES. A task's own addresses and tolerance count where
    they are not the defaults: the tolerance instead of TOLERANCE. A script that asks for what such
    an application would not do gives the error that says so, and sends nothing. Raises SetupError
    where the target cannot be opened, TargetError where it does not answer.
    """
    if app not in APPS:
        raise SetupError(f"unknown application '{app}': choose one of {', '.join(APPS)}")
    ready: dict[int, _Ready] = {}
    for number, task in enumerate(tasks):
        try:
            ready[number] = _prepared(task, app)
        except SetupError as error:
            yield number, error
    if not ready:
        return
    families = sorted({each.settings.family for each in ready.values()})
    named = ports or {}
    request = Request(
        target=target,
        app=None if target.startswith(("lab:", "sim:")) else app,
        sources=sources,
        iface=iface,
        plain_port=named.get("plain"),
        second_port=named.get("second"),
        small_port=named.get("small"),
        options=Options(families=families),
    )
    if request.target.startswith("sim:"):
        with interrupts_held() as check:
            for number, each in ready.items():
                with _opened(_simulated(target), VirtualLoop()) as way:
                    way.must_run(app)
                    yield number, _answer(each, way, app)
                check()
        return
    with interrupts_held() as check, _opened(open_target(request), asyncio.new_event_loop()) as way:
        way.must_run(app)
        for number, each in ready.items():
            yield number, _answer(each, way, app)
            check()


def read_task(task: Task) -> tuple[tree.Script, Settings]:
    """A script and its settings, with the tolerance for a stack on another host. Raises ScriptError
    where it is not in the language."""
    script = parse(task.text, task.name)
    refuse_nonsense(script, task.text, task.name)
    settings = with_options(task.settings, script.options, task.text, task.name)
    stated = any(option.name == _TOLERANCE for option in script.options)
    usual = settings.tolerance == Settings().tolerance and not stated
    return script, replace(settings, tolerance=TOLERANCE) if usual else settings


def _prepared(task: Task, app: str) -> _Ready:
    script, settings = read_task(task)
    return _Ready(script, settings, assumptions(script, app, text=task.text, name=task.name))


@dataclass(slots=True)
class _Way:
    """An open target. rtt: ns, by family, of those that were tried."""

    target: Target
    loop: asyncio.AbstractEventLoop
    rtt: dict[int, int]

    def must_run(self, app: str) -> None:
        """Raises SetupError where the target is known to run something else."""
        runs = self.target.main.app.name
        if app not in (runs, "none"):
            raise SetupError(f"{self.target.name} runs {runs}: give --assume-app {runs}")

    def measure(self, family: int) -> int:
        """ns there and back, from a handshake. Raises TargetError where none succeeds."""
        if family not in self.rtt:
            self.rtt[family] = run_until_interrupted(self.loop, self._handshake(family))
        return self.rtt[family]

    async def _handshake(self, family: int) -> int:
        path = PathRecord()
        board = Switchboard(self.target.link, capture=False)
        await self.target.link.prepare()
        await Control(self.target, board, path).establish([family])
        return int(path.rtt * 1e9)


@contextmanager
def _opened(
    opening: AbstractAsyncContextManager[Target], loop: asyncio.AbstractEventLoop
) -> Iterator[_Way]:
    try:
        target = run_until_interrupted(loop, _entered(opening))
        try:
            yield _Way(target, loop, {})
        finally:
            loop.run_until_complete(opening.__aexit__(None, None, None))
    finally:
        end_loop(loop)


async def _entered(opening: AbstractAsyncContextManager[Target]) -> Target:
    return await opening.__aenter__()


@asynccontextmanager
async def _simulated(name: str) -> AsyncIterator[Target]:
    from scapy_tfo.lab.memory.target import ReferenceLab
    from scapy_tfo.targets.own import reference_target
    from scapy_tfo.variants.registry import named

    mutant = named(name.removeprefix("sim:"))
    lab = await ReferenceLab.start(
        stack_class=mutant.stack, settings=mutant.settings, epoch=time.time()
    )
    try:
        yield reference_target(name, lab)
    finally:
        lab.close()


def _answer(ready: _Ready, way: _Way, app: str) -> Answer:
    try:
        return _run(ready, way, app)
    except SetupError as error:
        return error


def _run(ready: _Ready, way: _Way, app: str) -> Outcome:
    target, family = way.target, ready.settings.family
    address, sources = target.addresses.get(family), target.sources(family)
    if address is None or not sources:
        raise SetupError(f"{target.name} cannot be reached over IPv{family}")
    rtt = way.measure(family)
    local, remote = known_address(address.packed), known_address(sources[0].packed)
    tolerance = ready.settings.tolerance + rtt
    settings = replace(ready.settings, local=local, remote=remote, tolerance=tolerance)
    needed = clients(ready.script)
    if len(sources) < needed:
        raise SetupError(
            f"the script has {needed} addresses, {target.name} is reached from {len(sources)}: give"
            f" {needed} with --source"
        )
    wanted = listeners(ready.script, settings.bind_port)
    ports = run_until_interrupted(way.loop, ports_of(target, wanted))
    port = ports.get(settings.bind_port, target.main.port)
    wire = RemoteWire(target.link, way.loop, sources, {settings.bind_port: port, **ports})
    try:
        flows = Flows(local, remote, port, wire.new_port, wire.on_wire, wire.address_of)
        application = Application.ECHO if app == "echo" else Application.UNKNOWN
        player = RemotePlayer(ready.script, wire, settings, flows, rtt=rtt, application=application)
        player.outcome.notes += ready.notes
        try:
            player.play(Assumed(player))
        finally:
            player.end_connections()
    finally:
        wire.release()
    if wire.was_flooded:
        player.outcome.is_flooded = True
        player.outcome.notes.append(
            f"flooded: of what the target sent, only the first {MOST_HEARD:,} packets were read"
        )
    player.outcome.failures.sort(key=lambda failure: failure.line)
    return player.outcome
