"""Starts the stack of a target file, and reaches its hooks; both end with the run."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.lab.hooks import Hooks, HooksBrokenError, ListenerOptions, NotOfferedError
from scapy_tfo.lab.process.kept import Kept
from scapy_tfo.stacks.agent import AgentHooks, connected
from scapy_tfo.stacks.file import HooksWay, StackFile
from scapy_tfo.stacks.standing import STANDING, StandingHooks

_ROOMY = 8192
"""Pending fast opens that the listeners for all cases have room for."""

_STARTS = 20.0
"""Seconds that an agent has at least for its first answer: it may be an interpreter, far away."""


@dataclass(slots=True)
class Running:
    """A stack that runs. ports: of listeners by role (stacks.file.ROLES), "main" always among
    them. verbs: of its hooks."""

    file: StackFile
    ports: dict[str, int]
    hooks: Hooks | None = None
    verbs: frozenset[str] = frozenset()
    _agent: AgentHooks | None = None
    _programs: list[Kept] = field(default_factory=list)

    def broken(self) -> str:
        """Why it cannot be judged any more, or not with its hooks; "" where it can."""
        ended = next(filter(None, (each.ended() for each in self._programs)), "")
        why = self._agent.broken if self._agent is not None else ""
        return ended or (f"the hooks can be used no more: {why}" if why else "")


@contextlib.asynccontextmanager
async def running(file: StackFile) -> AsyncIterator[Running]:
    """Start a stack and speak with its hooks; whatever was started or opened is gone at the end.

    Raises SetupError for what the file says wrongly, and TargetError where the stack does not
    start, or its hooks do not answer.
    """
    made = Running(file, dict(file.ports))
    try:
        if file.start is not None:
            start = file.start
            if not start.directory.is_dir():
                raise SetupError(
                    f"{file.path}: 'start.directory' is {start.directory}, where no directory is: "
                    "write one, relative to the file"
                )
            program = Kept(
                start.argv,
                what=f"the stack of {file.path}",
                directory=start.directory,
                environment=start.environment,
                ready=start.ready,
            )
            made._programs.append(program)
            await program.ready(start.within)
        if file.hooks is not None:
            made._agent = await _reached(made, file.hooks)
            made.hooks, made.verbs = made._agent, made._agent.verbs
            await _begin(made, made._agent)
        hand_out(made)
        yield made
    finally:
        if made._agent is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await made._agent.end()
        for program in reversed(made._programs):
            program.close()


async def _reached(made: Running, way: HooksWay) -> AgentHooks:
    if way.socket is not None:
        sock = await connected(way.socket, way.within)
        return await AgentHooks.on(sock, within=way.within, first_port=way.first_port)
    sock, theirs = socket.socketpair()
    with theirs:
        agent = Kept(
            way.argv,
            what=f"the agent of {made.file.path}",
            directory=made.file.path.parent,
            environment={},
            descriptor=theirs.fileno(),
        )
    made._programs.append(agent)
    try:
        await agent.ready(_STARTS)
        return await AgentHooks.on(
            sock,
            within=way.within,
            starts=_STARTS,
            first_port=way.first_port,
            last_words=agent.ended,
        )
    except BaseException:
        sock.close()
        raise


async def _begin(made: Running, agent: AgentHooks) -> None:
    """Have a stack that others started as it was at its start; open what the file leaves out."""
    try:
        if "restart" in made.verbs and made.file.start is None:
            await agent.restart()
        if "listen" not in made.verbs:
            if "main" not in made.ports:
                raise SetupError(
                    f"{made.file.path}: 'ports.main' is missing: write the port where 'app' "
                    "listens, since the hooks have no 'listen'"
                )
            return
        app = made.file.app
        for role, queue in (("main", _ROOMY), ("second", _ROOMY), ("plain", 0)):
            if role not in made.ports and app != "none":
                made.ports[role] = await _opened(agent, app, queue)
    except (HooksBrokenError, NotOfferedError) as error:
        raise TargetError(f"the hooks of {made.file.path} cannot be used: {error}") from None
    if "main" not in made.ports:
        raise SetupError(f"{made.file.path}: 'app' is 'none': write echo or http for the hooks")


async def _opened(agent: AgentHooks, app: str, queue: int) -> int:
    """A port to judge; without fast open where the agent says that its stack has none."""
    try:
        return await agent.listen(ListenerOptions(app, queue))
    except NotOfferedError:
        if not queue:
            raise
        return await agent.listen(ListenerOptions(app, 0))


def hand_out(made: Running) -> None:
    """Offer the listeners that are there, where no others can be made; a case that asks for one
    that is not there says which."""
    if "listen" not in made.verbs:
        made.hooks = StandingHooks(made.file.standing, made.ports.get("small"), made.hooks)
        made.verbs |= {STANDING}
        made.verbs -= {"keys", "close"}
