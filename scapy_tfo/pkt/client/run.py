"""Runs client scripts at a client that a command starts: the script plays its server."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from scapy_tfo.clients.command import FILE as FILE_WORD
from scapy_tfo.clients.command import Command, CommandClient, commands, ready_made
from scapy_tfo.clients.environment import Here, Namespace
from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.client.actions import ClientFlows, ClientProgram, Way, assumed
from scapy_tfo.pkt.client.assumed import APPS, FILE, NONE, Plan, plan_of
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.local.pool import Answer
from scapy_tfo.pkt.local.run import Task, commands_around
from scapy_tfo.pkt.play.outcome import Failure, Outcome
from scapy_tfo.pkt.remote.player import RemotePlayer
from scapy_tfo.pkt.remote.run import read_task
from scapy_tfo.pkt.remote.wire import RemoteWire
from scapy_tfo.runner.clock import VirtualLoop, end_loop
from scapy_tfo.runner.interrupts import interrupts_held, run_until_interrupted

_SIMULATED, _READY_MADE = "sim:", "lab:"
_HTTP = "lab:curl"
"""A ready-made client that puts more around its file than a script's zeros."""


@dataclass(frozen=True, slots=True)
class JudgedClient:
    """Which client, as of `scapy-tfo client`. words: a command, or one of lab:NAME, sim:NAME.

    addresses: of the servers, where they are played in this network namespace; ssh: the host on
    which the command runs then, "" for this one. app: one of assumed.APPS, "" for what the words
    suggest.
    """

    words: tuple[str, ...]
    addresses: tuple[str, ...] = ()
    ssh: str = ""
    app: str = ""

    @property
    def name(self) -> str:
        """In reports."""
        return " ".join(self.words)

    @property
    def is_simulated(self) -> bool:
        """It runs in memory."""
        return self._is(_SIMULATED)

    @property
    def usual_app(self) -> str:
        """What it does, as far as the words tell."""
        return self.app or (FILE if self.sends_zeros else NONE)

    @property
    def sends_zeros(self) -> bool:
        """Its data is the file alone, with nothing around it."""
        if self._is(_SIMULATED) or self._is(_READY_MADE):
            return self.words[0] != _HTTP
        return any(FILE_WORD in each for each in self.words)

    def check(self) -> None:
        """Raises SetupError for what does not go together."""
        if not self.words:
            raise SetupError("no command: give one behind --client, or a client such as lab:curl")
        if self.app and self.app not in APPS:
            raise SetupError(f"--assume-app {self.app} is a server's: choose {' or '.join(APPS)}")
        if self.is_simulated and (self.addresses or self.ssh):
            raise SetupError("--ssh and --address do not go with sim: clients: they run in memory")
        if self.ssh and not self.addresses:
            raise SetupError("--ssh needs --address: the other host needs a route to the servers")

    def command(self) -> Command:
        """Raises SetupError where it cannot be one."""
        if self._is(_READY_MADE):
            return ready_made(self.words[0].removeprefix(_READY_MADE))
        return commands(self.words, ssh=self.ssh)

    def _is(self, kind: str) -> bool:
        return len(self.words) == 1 and self.words[0].startswith(kind)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A script that such a client could run."""

    task: Task
    script: tree.Script
    settings: Settings
    plan: Plan


def run_client(tasks: Sequence[Task], judged: JudgedClient) -> Iterator[tuple[int, Answer]]:
    """Run scripts one after the other, and give each one's number and outcome when it ends.

    Without addresses of its own, each script meets a client in a network namespace that no other
    has used; its commands run there. A script that asks for what such a client would not do gives
    the error that says so. Raises SetupError where the client cannot be started at all.
    """
    judged.check()
    ready: dict[int, _Ready] = {}
    for number, task in enumerate(tasks):
        try:
            ready[number] = _prepared(task, judged.usual_app)
        except SetupError as error:
            yield number, error
    with interrupts_held() as check:
        if judged.addresses and ready:
            with _here(judged) as way:
                for number, each in ready.items():
                    yield number, _answer(each, way, judged)
                    check()
            return
        for number, each in ready.items():
            with _fresh(judged, each) as way:
                yield number, _answer(each, way, judged)
            check()


def _prepared(task: Task, app: str) -> _Ready:
    script, settings = read_task(task)
    return _Ready(task, script, settings, plan_of(script, app, text=task.text, name=task.name))


@contextmanager
def _here(judged: JudgedClient) -> Iterator[Way]:
    """For all scripts: the servers' addresses are another host's way to us."""
    client = CommandClient(judged.command(), Here(judged.addresses))
    loop = asyncio.new_event_loop()
    try:
        yield Way(client, loop, None)
    finally:
        client.close()
        end_loop(loop)


@contextmanager
def _fresh(judged: JudgedClient, ready: _Ready) -> Iterator[Way]:
    """For one script, by what no other leaves behind."""
    if not judged.is_simulated:
        place = Namespace(ready.settings.mtu)
        client = CommandClient(judged.command(), place)
        loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        try:
            yield Way(client, loop, client.run)
        finally:
            client.close()
            end_loop(loop)
        return
    # What most runs do without takes longest to load.
    from scapy_tfo.client_variants.registry import client_named
    from scapy_tfo.clients.simulated import SimulatedClient

    mutant = client_named(judged.words[0].removeprefix(_SIMULATED))
    seed = zlib.crc32(f"{ready.task.name} {ready.settings.version}".encode())
    loop = VirtualLoop()

    async def started() -> SimulatedClient:
        return SimulatedClient(judged.name, mutant, seed, time.time())

    try:
        simulated = run_until_interrupted(loop, started())
        try:
            yield Way(simulated, loop, None)
        finally:
            simulated.close()
    finally:
        end_loop(loop)


def _answer(ready: _Ready, way: Way, judged: JudgedClient) -> Answer:
    try:
        return _run(ready, way, judged)
    except SetupError as error:
        return error


def _run(ready: _Ready, way: Way, judged: JudgedClient) -> Outcome:
    family = ready.settings.family
    if family not in way.client.families:
        raise SetupError(f"{way.client.name} has no IPv{family}")
    server = way.client.server(family)
    settings = replace(ready.settings, remote=server)
    wire = RemoteWire(way.client.link, way.loop, [server], {})
    try:
        wire.new_port(port=settings.connect_port)
        local, _ = settings.addresses
        flows = ClientFlows(local, server, settings.bind_port, wire.new_port)
        player = RemotePlayer(ready.script, wire, settings, flows)
        player.any_data = not judged.sends_zeros
        player.outcome.notes += assumed(ready.script, has_shell=way.shell is not None)
        player.outcome.notes += ready.plan.notes
        program = ClientProgram(player, way, ready.plan.starts, ready.task.directory)
        before, after = commands_around(ready.script)
        _set_up(before, way, ready, player)
        try:
            if not player.outcome.failures:
                player.play(program)
        finally:
            program.end()
            player.end_connections()
        _set_up(after, way, ready, player)
    finally:
        wire.release()
    player.outcome.failures.sort(key=lambda failure: failure.line)
    return player.outcome


def _set_up(wanted: Sequence[tree.Command], way: Way, ready: _Ready, player: RemotePlayer) -> None:
    for command in wanted if way.shell is not None else ():
        problem = way.run(command.shell.command, ready.task.directory)
        if problem:
            player.outcome.failures.append(Failure(line=command.at.line, problem=problem))
