"""`scapy-tfo lab serve`: run the reference server, a mutant or a variant of it, for any client."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.app_registry import app_factory
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.memory.device import Device, open_device, parse_place
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.mutants.registry import REFERENCE, Mutant
from scapy_tfo.segment import Address
from scapy_tfo.stacks.file import SMALL
from scapy_tfo.stacks.serving import hooks_on
from scapy_tfo.variants.registry import AnyStack, named

ADDRESSES = ("198.51.100.2/24", "fd00:7413:1::2/64")
"""Of TEST-NET-2 (RFC 5737), and of the unique local range (RFC 4193): nobody's real networks."""

PORT = 80
QUEUE = 8192

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What to serve.

    addresses: of the server, as `ADDRESS[/PREFIX]`. app: what answers (lab/apps.py). port: with
    fast open on, at most `queue` of them pending. second_port: the same on another port.
    plain_port: one with fast open off. small_port: one with a limit of
    stacks.file.SMALL. hooks: path of a Unix socket to offer the server's hooks
    on, None for nowhere. mutant: name of the stack (variants/registry.py).
    """

    addresses: Sequence[str] = ADDRESSES
    app: str = "http"
    port: int = PORT
    second_port: int | None = None
    plain_port: int | None = None
    small_port: int | None = None
    queue: int = QUEUE
    hooks: Path | None = None
    mutant: str = REFERENCE.name

    def listeners(self) -> dict[int, int]:
        """The limit of pending fast opens by port. Raises SetupError where a port comes twice."""
        wanted = [
            (self.port, self.queue),
            (self.second_port, self.queue),
            (self.plain_port, 0),
            (self.small_port, SMALL),
        ]
        given = [(port, queue) for port, queue in wanted if port is not None]
        if len(dict(given)) < len(given):
            raise SetupError("--port, --second-port, --plain-port and --small-port must differ")
        return dict(given)


def serve(service: Service) -> int:
    """Serve until a signal ends it; the exit status.

    The server lives behind a TUN device in this network namespace, which goes with the process.
    Raises SetupError where the host does not allow that, or uses the addresses itself, and for
    a mutant that there is not.
    """
    mutant = named(service.mutant)
    places = [parse_place(text) for text in service.addresses]
    listeners = service.listeners()
    try:
        app_factory(service.app, SessionLog())
    except ValueError as error:
        raise SetupError(f"--app: {error}") from None
    device = open_device(places)
    try:
        counters = asyncio.run(_serve(service, mutant, device, listeners))
    finally:
        device.link.close()
    for name, value in counters.items():
        if value:
            print(f"{name} {value}")
    return 0


async def _serve(
    service: Service, mutant: AnyStack, device: Device, listeners: dict[int, int]
) -> dict[str, int]:
    stop = asyncio.Event()
    for number in _ENDS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    link = device.link
    settings = replace(mutant.settings, mtu=link.mtu)
    stack = mutant.stack(link.sources, settings, seed=secrets.randbits(64))
    host = ReferenceHost.on(link, stack)
    for port, queue in listeners.items():
        await host.listen(ListenerOptions(service.app, queue), port)
    async with contextlib.AsyncExitStack() as offers:
        if service.hooks is not None:
            await offers.enter_async_context(hooks_on(service.hooks, host))
        print("\n".join(_told(service, mutant, device, listeners)), flush=True)
        await stop.wait()
    host.close()
    return await host.counters()


def _told(
    service: Service, stack: AnyStack, device: Device, listeners: dict[int, int]
) -> list[str]:
    addresses = device.link.sources
    who = "The reference server"
    if stack is not REFERENCE:
        who = f"The {'mutant' if isinstance(stack, Mutant) else 'variant'} {stack.name}"
    lines = [f"{who} answers on {device.name} until Ctrl-C:"]
    if isinstance(stack, Mutant) and stack is not REFERENCE:
        lines.append(f"  ({stack.description} Breaks {stack.breaks}.)")
    elif not isinstance(stack, Mutant):
        lines.append(f"  ({stack.description} Uses {', '.join(stack.uses)}.)")
    for port, queue in listeners.items():
        ends = " and ".join(_end(each, port) for each in addresses)
        lines.append(f"  {service.app} on {ends}, fast open {'on' if queue else 'off'}")
    first = addresses[0]
    own = [str(each) for each in device.neighbours if each.version == first.version]
    name = service.app.partition(":")[0]
    judged = {"http": "http", "echo": "echo", "shared": "echo"}.get(name, "none")
    target = _end(first, service.port)
    lines.append("Try, on this host:")
    if service.app == "http":
        lines.append(f"  curl --tcp-fastopen http://{target}/   (twice: the first gets a cookie)")
    lines.append(f"  scapy-tfo test {target} --app {judged} --source {' '.join(own)}")
    if name == "signed":
        lines[-1] = (
            "  a client that signs with TCP MD5, as docs/hooks.md says; the others get no answer"
        )
    return lines


def _end(address: Address, port: int) -> str:
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
