"""Reaches a target that is not our own: an address, or a stack that a target file describes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.stacks.file import ROLES, SMALL, StackFile, is_target_file, load
from scapy_tfo.stacks.running import Running, hand_out, running
from scapy_tfo.suite.application import App, make_app
from scapy_tfo.suite.target import Service, Target
from scapy_tfo.targets.endpoint import parse_endpoint, resolve

_WANTED = {
    "second": "another listener with fast open on (--second-port)",
    "plain": "a listener with fast open off (--plain-port)",
    "small": f"an echo with a limit of {SMALL} pending fast opens (--small-port)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How a user says that a target is reached. ports: by role (stacks.file.ROLES), as far as
    given. standing: ports by application, of listeners that are there."""

    target: str
    app: str | None = None
    families: Sequence[int] | None = None
    iface: str | None = None
    sources: Sequence[str] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    standing: Mapping[str, int] = field(default_factory=dict)


def file_of(target: str) -> StackFile | None:
    """The target file that a target is, None for any other. Raises SetupError."""
    return load(Path(target)) if is_target_file(target) else None


def addresses_of(names: Sequence[str], families: Sequence[int] | None) -> dict[int, Address]:
    """One address of each family, of the first name that has one. Raises SetupError."""
    found: dict[int, Address] = {}
    for name in names:
        found = {**resolve(name, None), **found}
    wanted = {each: at for each, at in found.items() if families is None or each in families}
    if not wanted:
        raise SetupError(f"{', '.join(names)}: no IPv{(families or (4,))[0]} address")
    return wanted


@asynccontextmanager
async def reached(reach: Reach) -> AsyncIterator[Target]:
    """The target, ready to be judged; everything is given back at the end.

    Raises SetupError and TargetError.
    """
    file = file_of(reach.target)
    if file is not None:
        async with stack_of(file, reach) as stack:
            addresses = addresses_of(stack.file.addresses, reach.families)
            with _opened(reach.target, addresses, stack) as target:
                yield target
        return
    host, port = parse_endpoint(reach.target)
    ports = {**reach.ports, "main": port}
    _must_be_apart(ports, reach.standing)
    addresses = resolve(host, reach.families)
    described = StackFile(
        path=Path(),
        name=reach.target,
        version="",
        addresses=(host,),
        app=reach.app or "none",
        iface=reach.iface,
        sources=tuple(_source(each) for each in reach.sources),
        intrusive=False,
        standing=reach.standing,
    )
    stack = Running(described, ports)
    hand_out(stack)
    with _opened(reach.target, addresses, stack) as target:
        yield target


@asynccontextmanager
async def stack_of(file: StackFile, reach: Reach) -> AsyncIterator[Running]:
    """The stack of a target file, started. What the user gives beside the file stands above it.

    Raises SetupError and TargetError.
    """
    ours = [each for each in file.sources if each.version in (reach.families or (4, 6))]
    described = replace(
        file,
        app=reach.app or file.app,
        iface=reach.iface or file.iface,
        sources=tuple(_source(each) for each in reach.sources) or tuple(ours),
        ports={**file.ports, **reach.ports},
        standing={**file.standing, **reach.standing},
    )
    _must_be_apart(described.ports, described.standing)
    async with running(described) as stack:
        yield stack


def _must_be_apart(ports: Mapping[str, int], standing: Mapping[str, int]) -> None:
    """Raises SetupError where one port is given for listeners that differ."""
    taken: dict[int, str] = {}
    for role in ROLES:
        port = ports.get(role)
        if port in taken:
            raise SetupError(
                f"port {port} is given as the {taken[port]} port and as the {role} port: run "
                f"{_WANTED[role]} on a port of its own, or leave the {role} port out"
            )
        if port is not None:
            taken[port] = role
    for app, port in standing.items():
        if taken.get(port) in ("plain", "small"):
            raise SetupError(
                f"port {port} is given as the {taken[port]} port and for '{app}': run '{app}' "
                "with fast open on at a port of its own, or leave it out"
            )


@contextmanager
def _opened(name: str, addresses: dict[int, Address], stack: Running) -> Iterator[Target]:
    from scapy_tfo.wire.links.choose import open_link
    from scapy_tfo.wire.segmentation import keeps_segments

    file = stack.file
    link = open_link(list(addresses.values()), iface=file.iface, sources=file.sources)
    app = make_app(file.app, file.addresses[0])

    def service(role: str, app: App = app) -> Service | None:
        return Service(stack.ports[role], app) if role in stack.ports else None

    try:
        yield Target(
            name=name,
            link=link,
            addresses={
                family: address
                for family, address in addresses.items()
                if any(source.version == family for source in link.sources)
            },
            main=Service(stack.ports["main"], app),
            plain=service("plain"),
            second=service("second"),
            small=service("small", make_app("echo", file.addresses[0])),
            hooks=stack.hooks,
            verbs=stack.verbs,
            foreign=True,
            direct=file.direct,
            whole=file.iface is not None and keeps_segments(file.iface),
            broken=stack.broken,
        )
    finally:
        link.close()


def _source(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise SetupError(f"--source '{text}' is not an IP address") from None
