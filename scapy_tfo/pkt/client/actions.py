"""Carries out a script at a client: starts its command where the script connects."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.clients.application import Application, Client, Ended
from scapy_tfo.pkt.client.assumed import Start
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.local import programs
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.play.actions import Program
from scapy_tfo.pkt.play.flows import Flows
from scapy_tfo.pkt.play.player import Player
from scapy_tfo.runner.interrupts import run_until_interrupted
from scapy_tfo.segment import Segment

_PATIENCE = 10_000_000_000
"""ns from a command's start to its first SYN: an interpreter or a virtual machine may start first,
or a login by ssh."""

_LOOK_AGAIN = 20_000_000
"""ns from one look for a SYN to the next."""

Shell = Callable[[list[str]], Coroutine[Any, Any, Ended]]


@dataclass(frozen=True, slots=True)
class Way:
    """A client, and the loop that it lives on. shell: runs words where it is, None where nothing
    may be changed there."""

    client: Client
    loop: asyncio.AbstractEventLoop
    shell: Shell | None

    def run(self, command: str, directory: Path) -> str:
        """What went wrong with a command of the script, "" for nothing; only with a shell."""
        assert self.shell is not None
        there = programs.environment()
        words = ["env", f"PATH={there['PATH']}", f"LC_ALL={there['LC_ALL']}", "bash", "-c"]
        words.append(f"cd {shlex.quote(str(directory.absolute()))} && {{ {command}\n}}")
        ended = run_until_interrupted(self.loop, self.shell(words))
        if not ended.status:
            return ""
        said = "; ".join(filter(None, (ended.said, ended.received.decode(errors="replace"))))
        return f"exit status {ended.status}" + f": {said.strip()}" * bool(said.strip())


class ClientFlows(Flows):
    """A client's address is where its packets come from."""

    def owner(self, segment: Segment) -> Flow | None:
        """See Flows."""
        flow = super().owner(segment)
        if flow is not None:
            flow.local = segment.src
        return flow


class ClientProgram(Program):
    """Starts the client for each connection of the script; its other calls are its own.

    starts: see assumed.Plan. directory: where commands run.
    """

    def __init__(
        self, player: Player, way: Way, starts: dict[tree.Position, Start], directory: Path
    ) -> None:
        self._player = player
        self._way = way
        self._starts = starts
        self._directory = directory
        self._running: list[tuple[int, Application, asyncio.Task[Ended]]] = []

    def call(self, event: tree.Event, call: tree.Syscall) -> None:
        start = self._starts.get(event.at)
        if start is None:
            self._player.act(event, lambda: None)
        else:
            self._player.act(event, lambda: self._start(event, call, start))
        if call.name == "socket":
            self._player.catch_up()
            self._player.flows.socket_made()

    def shell(self, event: tree.Event, command: tree.Shell) -> None:
        if self._way.shell is None:
            self._player.act(event, lambda: None)
            self._player.outcome.notes.append(f"not run: {show_action(command)}")
            return
        problems: list[str] = []
        self._player.act(
            event, lambda: problems.append(self._way.run(command.command, self._directory))
        )
        for problem in filter(None, problems):
            self._player.fail(event, problem, expected=show_action(command))

    def end(self) -> None:
        """End what still runs, and note what ended by itself with an error."""
        for line, application, task in self._running:
            if task.done() and not task.cancelled() and task.exception() is None:
                ended = task.result()
                if ended.status:
                    said = f"the client of line {line} {_told(ended)}"
                    self._player.outcome.notes.append(said)
            application.kill()
            task.cancel()
        self._running.clear()

    def _start(self, event: tree.Event, call: tree.Syscall, start: Start) -> None:
        """The call is over once its SYN has come: what is due from then on is not late because a
        program takes its time to load."""
        player, settings = self._player, self._player.settings
        _, server = settings.addresses
        player.catch_up()
        self._forget_the_last()
        player.flows.connecting(server, settings.connect_port)
        asked = self._way.client.start(
            server, settings.connect_port, bytes(start.size), ask=start.asks
        )
        application = run_until_interrupted(self._way.loop, asked)
        task = self._way.loop.create_task(application.ended())
        self._running.append((event.at.line, application, task))
        until = player.wire.now() + _PATIENCE
        while player.flows.awaits_syn and not task.done():
            now = player.wire.now()
            if now >= until:
                break
            player.hearing.listen(min(until, now + _LOOK_AGAIN))
        player.catch_up()
        if player.flows.awaits_syn:
            told = _told(task.result()) if task.done() else f"ran for {_PATIENCE / 1e9:g} s"
            player.fail(
                event, "the client sent no SYN", expected=show_action(call), actual=f"it {told}"
            )

    def _forget_the_last(self) -> None:
        """What the script did not name of the connection before, and a TCP may send, is nothing
        that a silence of the next one forbids."""
        hearing, leftovers = self._player.hearing, self._player.leftovers
        for found in reversed(hearing.between(0, self._player.wire.now() + 1)):
            flow, _, segment = found
            if leftovers.problem(flow, segment):
                hearing.put_back(found)


def _told(ended: Ended) -> str:
    return f"ended with status {ended.status}" + f": {ended.said}" * bool(ended.said)


def assumed(script: tree.Script, *, has_shell: bool) -> Iterator[str]:
    """What is not done of a script's commands, one line each."""
    for command in () if has_shell else script.commands:
        yield f"assumed: `{command.shell.command}`"
