"""Opens the stack of a target file for campaigns."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.stacks.file import load
from scapy_tfo.stacks.running import Running, running
from scapy_tfo.targets.reached import addresses_of
from scapy_tfo.wire.links.choose import open_link

_ROLES = ("main", "second", "plain")
"""Of the ports of a target file, those that programs use, by the same names."""


class _Stack:
    """A stack on a loop of its own, which runs only while it is opened and closed."""

    def __init__(self, path: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._held: AbstractAsyncContextManager[Running] | None = None
        try:
            held = running(load(path))
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


def open_file(name: str, *, rate: int | None) -> LiveBench:
    """The stack of a target file, started; closing the bench ends it.

    Raises SetupError and TargetError, as `running`, and where there is no way to it.
    """
    stack = _Stack(Path(name))
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
                ails=stack.running.broken,
                close=stack.close,
            )
        except TargetError as error:
            why = stack.running.broken() or str(error)
            raise TargetError(f"{why}; a campaign needs an echo application there") from error
    except BaseException:
        stack.close()
        raise
