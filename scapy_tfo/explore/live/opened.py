"""Opens a target on the wire: meets its application, asks what it chooses, makes its listeners."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.addresses import Range, clients_of
from scapy_tfo.executor.live.application import meet
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.live.control import greet
from scapy_tfo.explore.live.site import Site
from scapy_tfo.explore.stages.plan import SERVERS
from scapy_tfo.lab.hooks import HooksBrokenError, ListenerOptions, NotOfferedError
from scapy_tfo.segment import Address
from scapy_tfo.suite.target import Target
from scapy_tfo.targets.own import open_lab
from scapy_tfo.targets.reached import Reach, reached
from scapy_tfo.wire.links.batch import Batch
from scapy_tfo.wire.links.batch_link import LinkBatch
from scapy_tfo.wire.links.tun import TunLink

ROOM = 1024
"""Pending fast opens that each listener of our own takes."""
_SPARE = 2
"""Addresses of each family that are kept for what leaves a mark on them."""
_ECHO = "echo"


def open_site(reach: Reach) -> Site:
    """The target, ready to be explored; the caller closes it.

    Raises SetupError where there is no such target, or no way to it; TargetError where it does not
    answer, or something else than an echo listens there.
    """
    loop = asyncio.new_event_loop()
    name = reach.target
    held = open_lab(name, {}) if name.startswith("lab:") else reached(reach)
    try:
        target = loop.run_until_complete(held.__aenter__())
    except BaseException:
        loop.close()
        raise
    opened = _Opened(loop, held)
    try:
        if target.main.app.name != _ECHO:
            raise SetupError(f"{name}: explore needs an echo there, not {target.main.app.name}")
        return _site(target, opened)
    except BaseException:
        opened.close()
        raise


class _Opened:
    """What is given back at the end, in this order."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, held: AbstractAsyncContextManager[Target]
    ) -> None:
        self._loop, self._held = loop, held
        self._batch: Batch | None = None

    def batch_of(self, target: Target) -> Batch:
        """The way to a target: without a loop where that is possible."""
        link = target.link
        batch = link.batch() if isinstance(link, TunLink) else LinkBatch(link, self._loop)
        self._batch = batch
        return batch

    def wait(self, asked: Awaitable[int]) -> int:
        """Run the loop until an answer comes."""
        return self._loop.run_until_complete(_awaited(asked))

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def close(self) -> None:
        """Harmless when called twice."""
        if self._loop.is_closed():
            return
        try:
            self._loop.run_until_complete(self._held.__aexit__(None, None, None))
        finally:
            if self._batch is not None:
                self._batch.close()
            if not self._loop.is_closed():
                self._loop.close()


async def _awaited(asked: Awaitable[int]) -> int:
    return await asked


def _site(target: Target, opened: _Opened) -> Site:
    batch = opened.batch_of(target)
    families = [each for each in target.addresses if target.sources(each)]
    addresses = {each: target.addresses[each] for each in families}
    services = {"main": target.main, "plain": target.plain, "second": target.second}
    ports = {role: each.port for role, each in services.items() if each is not None}
    ours = target.is_ours
    at = Range(batch, clients_of(batch.sources, families), {}, addresses, ports)
    if not ours:
        greet(batch, at.sources, addresses, ports["main"])
        meet(batch, at.sources, addresses, ports)
    profile = LiveBench(target.name, at, ours=ours, close=lambda: None).profile
    sources = {each: _of(batch.sources, each) for each in families}
    site = Site(
        name=target.name,
        batch=batch,
        addresses=addresses,
        sources={each: some[:-_SPARE] if ours else some for each, some in sources.items()},
        spare={each: some[-_SPARE:] for each, some in sources.items()} if ours else {},
        ports={_ECHO: target.main.port},
        profile=profile,
        loop=opened.loop,
        close=opened.close,
        roomy=ROOM if ours else None,
        ours=ours,
        direct=ours or target.direct,
        broken=target.broken,
    )
    _listen(site, target, opened)
    return site


def _of(sources: Sequence[Address], family: int) -> list[Address]:
    return [each for each in sources if each.version == family]


def _listen(site: Site, target: Target, opened: _Opened) -> None:
    """Have a listener for each application, where the target's hooks make some."""
    hooks = target.hooks
    if hooks is None or not target.offers("sessions"):
        site.lacks["what its application got"] = "no hooks tell"
    else:
        site.hooks = hooks
    if hooks is None or not target.offers("listen"):
        site.lacks["other applications than echo"] = "no hooks open listeners"
        return

    def port(application: str, *keys: bytes) -> int:
        return opened.wait(hooks.listen(ListenerOptions(application, ROOM, keys)))

    for application in SERVERS:
        try:
            site.ports[application] = port(application)
        except (NotOfferedError, ValueError) as error:
            site.lacks[f"application {application}"] = str(error)
        except HooksBrokenError as error:
            raise TargetError(f"{site.name}: the hooks failed: {error}") from error
        else:
            site.room = ROOM
    if not target.offers("keys"):
        return
    new, old = os.urandom(16), os.urandom(16)
    try:
        site.old_cookies = port(_ECHO, old)
        site.old = {each: port(each, new, old) for each in site.ports}
    except (NotOfferedError, ValueError) as error:
        site.lacks["cookies of an older key"] = str(error)
