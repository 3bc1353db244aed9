"""Opens the stack of a target file for campaigns."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.target_coverage import VARIABLE, TargetMap
from scapy_tfo.stacks.file import StackFile, load
from scapy_tfo.stacks.running import Running, running
from scapy_tfo.targets.mapped import MappedBench
from scapy_tfo.targets.reached import addresses_of
from scapy_tfo.wire.links.choose import open_link

_ROLES = ("main", "second", "plain")
"""Of the ports of a target file, those that programs use, by the same names."""


class _Stack:
    """A stack on a loop of its own, which runs only while it is opened and closed."""

    def __init__(self, file: StackFile) -> None:
        self._loop = asyncio.new_event_loop()
        self._held: AbstractAsyncContextManager[Running] | None = None
        try:
            held = running(file)
            self.running = self._loop.run_until_complete(held.__aenter__())
            self._held = held
        except BaseException:
            self._loop.close()
            raise

    def close(self) -> None:
        """End it. Harmless when called twice."""
        held, self._held = self._held, None
        if held is not None:
            try:
                self._loop.run_until_complete(held.__aexit__(None, None, None))
            finally:
                self._loop.close()


def open_file(name: str, *, rate: int | None) -> LiveBench | MappedBench:
    """The stack of a target file, started; closing the bench ends it. One that was built to tell
    what it executes is asked to.

    Raises SetupError and TargetError, as `running`, and where there is no way to it.
    """
    file = load(Path(name))
    if file.start is None:
        return _opened(name, file, rate)
    try:
        seen = TargetMap.make()
    except OSError as error:
        raise SetupError(f"no memory to share with {name}: {error.strerror}") from error
    try:
        told = {**file.start.environment, VARIABLE: str(seen.path)}
        bench = _opened(name, replace(file, start=replace(file.start, environment=told)), rate)
    except BaseException:
        seen.close()
        raise
    if seen.is_used:
        return MappedBench(bench, seen)
    seen.close()
    return bench


def _opened(name: str, described: StackFile, rate: int | None) -> LiveBench:
    stack = _Stack(described)
    try:
        file, ports = stack.running.file, stack.running.ports
        if file.app != "echo":
            raise SetupError(f"{name}: 'app' is '{file.app}': a campaign needs echo there")
        addresses = addresses_of(file.addresses, None)
        link = open_link(list(addresses.values()), iface=file.iface, sources=file.sources)
        ends = {role: ports[role] for role in _ROLES if role in ports}
        try:
            return LiveBench.on(
                name,
                link,
                addresses,
                ends,
                rate=rate,
                direct=file.direct,
                ails=stack.running.broken,
                close=stack.close,
            )
        except TargetError as error:
            why = stack.running.broken() or str(error)
            raise TargetError(f"{why}; a campaign needs an echo application there") from error
    except BaseException:
        stack.close()
        raise
