"""Opens a user's targets by address; the name of each says how to reach it.

A store keeps the name of its target, so that a finding is replayed over the same way:
`192.0.2.1:7 through tap0 from 192.0.2.9,192.0.2.10 plain 8`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.segment import Address
from scapy_tfo.targets.endpoint import parse_endpoint, resolve
from scapy_tfo.wire.links.choose import open_link

_THROUGH, _FROM, _PLAIN, _SECOND = "through", "from", "plain", "second"


@dataclass(frozen=True, slots=True)
class Way:
    """endpoint: HOST or HOST:PORT, where an echo listens. iface: to send through, "" for the
    kernel's choice. sources: addresses to send from. ports: those of other listeners, by the names
    of `program.PORTS`."""

    endpoint: str
    iface: str = ""
    sources: tuple[str, ...] = ()
    ports: tuple[tuple[str, int], ...] = ()


def spelled(way: Way) -> str:
    """As one name, which `way_of` reads."""
    words = [way.endpoint]
    if way.iface:
        words += [_THROUGH, way.iface]
    if way.sources:
        words += [_FROM, ",".join(way.sources)]
    for name, port in way.ports:
        words += [name, str(port)]
    return " ".join(words)


def way_of(name: str) -> Way:
    """Read what `spelled` wrote. Raises SetupError for anything else."""
    endpoint, *words = name.split(" ")
    iface = ""
    sources: tuple[str, ...] = ()
    ports = []
    for word, value in zip(words[::2], words[1::2], strict=False):
        if word == _THROUGH:
            iface = value
        elif word == _FROM:
            sources = tuple(value.split(","))
        elif word in (_PLAIN, _SECOND) and value.isascii() and value.isdigit():
            ports.append((word, int(value)))
        else:
            raise SetupError(f"'{name}' is not a target for fuzz: give HOST or HOST:PORT")
    if len(words) % 2:
        raise SetupError(f"'{name}' is not a target for fuzz: give HOST or HOST:PORT")
    return Way(endpoint, iface, sources, tuple(ports))


def open_address(name: str, *, rate: int | None) -> LiveBench:
    """The target of that name. Raises SetupError where there is no way to it, TargetError where
    it does not answer."""
    way = way_of(name)
    host, port = parse_endpoint(way.endpoint)
    addresses = resolve(host, None)
    link = open_link(
        list(addresses.values()), iface=way.iface or None, sources=_addresses(way.sources)
    )
    try:
        return LiveBench.on(name, link, addresses, {"main": port, **dict(way.ports)}, rate=rate)
    except TargetError as error:
        raise TargetError(f"{error}; a campaign needs an echo application there") from error


def _addresses(texts: Sequence[str]) -> list[Address]:
    try:
        return [ip_address(each) for each in texts]
    except ValueError as error:
        raise SetupError(f"--source: {error}") from None
