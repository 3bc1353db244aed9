"""Loads whole pages on virtual time, with the loader and the server of real ones."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.gain.measuring.rounds import Tell
from scapy_tfo.gain.names import VIRTUAL
from scapy_tfo.gain.pages import loader
from scapy_tfo.gain.pages.experiment import WAYS, Load, Plan, answers_of, work_of
from scapy_tfo.gain.pages.page import Page
from scapy_tfo.gain.pages.server import Server
from scapy_tfo.gain.virtual.network import LINUX, Network
from scapy_tfo.gain.virtual.wire import Wire
from scapy_tfo.runner.clock import run_virtually

UNSTEADY = 0.002
"""Seconds."""

_LINUX_WINDOW = 10
_LONGEST_HEAD = 1 << 16


def measure(plan: Plan, pages: Sequence[Page], tell: Tell = str) -> Iterator[Load]:
    """Load after load, as `experiment.measure`. One load of each way is exact. With more, the
    browser takes up to `UNSTEADY` longer before each request, another time in each load: a page on
    a full link takes some percent more or less time if a packet gets in before another, and that
    is no gain. Raises TargetError where a page does not load."""
    for page in pages:
        for rtt in plan.rtts:
            for way, number in ((way, each) for each in range(plan.times) for way in WAYS):
                tell(f"{page.title}, {rtt * 1000:g} ms, {way}")
                dice = random.Random(f"{plan.seed} {number} {way}") if plan.times > 1 else None
                try:
                    told = run_virtually(_loaded(plan, page, rtt, way, dice))
                except OSError as error:
                    raise TargetError(f"{page.title} did not load: {error}") from error
                yield Load(page=page.name, rtt=rtt, link=VIRTUAL, congestion="reno", **told)


async def _loaded(
    plan: Plan, page: Page, rtt: float, way: str, dice: random.Random | None
) -> dict[str, Any]:
    settings = replace(LINUX, initial_window=plan.window or _LINUX_WINDOW)
    shapes = plan.line.shapes(rtt)
    network = Network(*shapes, places=len(page.hosts), settings=settings, seed=plan.seed)
    serving: set[asyncio.Task[None]] = set()
    server = Server(dict(answers_of(page)))

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(server.serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    def protocol() -> asyncio.Protocol:
        reader = asyncio.StreamReader(_LONGEST_HEAD)
        return asyncio.StreamReaderProtocol(reader, serve)

    network.serve(protocol)
    work = work_of(plan, page, rtt)
    if dice is not None:
        for each in work["resources"]:
            each["delay"] += dice.random() * UNSTEADY
    addresses = (str(each) for each in network.places)
    work["addresses"] = dict(zip(page.hosts, addresses, strict=True))

    class VirtualLoad(loader.Load):
        def wire(self, at: tuple[str, int]) -> loader.Connection:
            return Wire(network, at[0])

        def sent_again(self) -> int:
            return network.again

    try:
        if way == "tfo":
            await loader.warm(work, VirtualLoad)
        await asyncio.sleep(work["pause"])
        return await VirtualLoad(work, way).run()
    finally:
        network.close()
