"""From the words of a user to a judged target: resolve, open, run, close."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.suite.app import make_app
from scapy_tfo.suite.known import load_known, mark_known
from scapy_tfo.suite.labs import LABS, is_in_memory, open_lab
from scapy_tfo.suite.registry import Case, all_cases, select
from scapy_tfo.suite.result import Run
from scapy_tfo.suite.runner import Options, judge
from scapy_tfo.suite.target import Service, Target

DEFAULT_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user asks to be judged, and how.

    target: HOST[:PORT], one of LABS, sim:reference, or lab:NAME or sim:NAME of a mutant. app:
    echo, http, none, or None for what the target is known to run. sources: addresses to send
    from. plain_port, second_port: ports of listeners with fast open off, and on. sysctls: set
    in the namespace of a lab target.
    """

    target: str
    app: str | None = None
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    known: Path | None = None
    sources: Sequence[str] = ()
    iface: str | None = None
    plain_port: int | None = None
    second_port: int | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)
    options: Options = field(default_factory=Options)

    @property
    def is_ours(self) -> bool:
        """A target of our own making, where intrusive cases disturb nobody."""
        return self.target.startswith(("lab:", "sim:"))

    @property
    def is_in_memory(self) -> bool:
        """Without a network: the path can be impaired, and all that is random has one seed."""
        return self.target.startswith("sim:") or is_in_memory(self.target)


def chosen_cases(request: Request) -> tuple[Case, ...]:
    """The cases that the request selects. Raises SetupError for an entry that matches none."""
    return select(all_cases(), request.only, request.exclude)


def families_of(request: Request) -> tuple[int, ...]:
    """The families, 4 and 6, at which a target will be judged."""
    wanted = tuple(request.options.families or (4, 6))
    if request.is_ours:
        return wanted
    found = resolve(parse_endpoint(request.target)[0], wanted)
    return tuple(each for each in (4, 6) if each in found)


def run(request: Request) -> Run:
    """Judge what is asked for, from start to end.

    Raises SetupError for wrong usage or set-up, TargetError where the target cannot be judged.
    """
    catalogue = spec.load()
    cases = chosen_cases(request)
    known = load_known(request.known, (each.id for each in all_cases())) if request.known else ()
    if request.options.impairment is not None and not request.is_in_memory:
        raise SetupError("an impaired path leads to sim:NAME, lab:reference and lab:MUTANT only")
    if request.sysctls and not request.target.startswith("lab:"):
        raise SetupError("--sysctl is for lab targets: the namespace of another is not ours to set")
    if request.is_ours:
        _must_leave_to_us(request)
        request = replace(request, options=replace(request.options, intrusive=True))
    if request.target.startswith("sim:") and request.options.requests:
        raise SetupError("--connections is for a target with an address: sim: is one server")
    if request.target.startswith("sim:"):
        from scapy_tfo.suite.simulation import simulate

        done = simulate(request.target, cases, catalogue, request.options)
    else:
        done = asyncio.run(_run_live(request, cases, catalogue))
    return replace(done, results=mark_known(done.results, known))


def _must_leave_to_us(request: Request) -> None:
    given = {
        "--app": request.app,
        "--source": request.sources,
        "--iface": request.iface,
        "--plain-port": request.plain_port,
        "--second-port": request.second_port,
    }
    needless = [option for option, value in given.items() if value]
    if needless:
        raise SetupError(
            f"{', '.join(needless)}: for a target of yours; {request.target} brings its own"
        )


async def _run_live(request: Request, cases: Sequence[Case], catalogue: spec.Catalogue) -> Run:
    async with open_target(request) as target:
        return await judge(target, cases, catalogue, request.options)


@asynccontextmanager
async def open_target(request: Request) -> AsyncIterator[Target]:
    """The live target that a request names; everything is given back at the end."""
    if request.target.startswith("lab:"):
        options = request.options
        async with open_lab(
            request.target, request.sysctls, impairment=options.impairment, seed=options.seed
        ) as target:
            yield target
        return
    if request.target.startswith("sim:"):
        raise SetupError(f"{request.target} lives in a simulation and has no address")
    target = _remote(request)
    try:
        yield target
    finally:
        target.link.close()


def _remote(request: Request) -> Target:
    from scapy_tfo.wire.choose import open_link

    host, port = parse_endpoint(request.target)
    addresses = resolve(host, request.options.families)
    sources = [_source(text) for text in request.sources]
    link = open_link(list(addresses.values()), iface=request.iface, sources=sources)
    reachable = {
        family: address
        for family, address in addresses.items()
        if any(source.version == family for source in link.sources)
    }
    app = make_app(request.app or "none", host)

    def service(number: int | None) -> Service | None:
        return None if number is None else Service(number, app)

    return Target(
        name=request.target,
        link=link,
        addresses=reachable,
        main=Service(port, app),
        plain=service(request.plain_port),
        second=service(request.second_port),
    )


def parse_endpoint(text: str, default: int = DEFAULT_PORT) -> tuple[str, int]:
    """Host and port of `HOST`, `HOST:PORT`, `[V6]:PORT` or a bare IPv6 address.

    default: the port where none is given.

    Raises SetupError where it is none of these.
    """
    host, port = text, ""
    if text.startswith("["):
        host, mark, port = text[1:].partition("]")
        if not mark or (port and not port.startswith(":")):
            raise SetupError(f"'{text}' is no target: write an IPv6 address as [2001:db8::7]:80")
        port = port[1:]
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise SetupError(
            f"'{text}' is no target: give HOST, HOST:PORT (port 1 to 65535), "
            f"{', '.join(LABS)}, or sim:NAME or lab:NAME of a mutant"
        )
    return host, int(port) if port else default


def resolve(host: str, families: Sequence[int] | None) -> dict[int, Address]:
    """One address of each family that a host has. Raises SetupError where there is none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SetupError(
            f"no such host: '{host}' ({why}); check the name or give an address"
        ) from None
    addresses: dict[int, Address] = {}
    for *_, sockaddr in found:
        address = ip_address(str(sockaddr[0]).partition("%")[0])
        if families is None or address.version in families:
            addresses.setdefault(address.version, address)
    if not addresses:
        raise SetupError(f"'{host}' has no IPv{families[0] if families else 4} address")
    return addresses


def _source(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise SetupError(f"--source '{text}' is no IP address") from None
