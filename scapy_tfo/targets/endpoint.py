"""Reads hosts and ports as users write them, and looks up the addresses of a host."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import ip_address

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.segment import Address
from scapy_tfo.targets.own import LABS, own_targets

DEFAULT_PORT = 80


def parse_endpoint(text: str, default: int = DEFAULT_PORT) -> tuple[str, int]:
    """Host and port of `HOST`, `HOST:PORT`, `[V6]:PORT` or a bare IPv6 address.

    default: the port where none is given.

    Raises SetupError where it is none of these.
    """
    host, port = text, ""
    if "/" in text or text in (".", ".."):
        raise SetupError(
            f"'{text}' is not a target: give a file that ends in .toml, HOST or HOST:PORT"
        )
    if text.startswith("["):
        host, mark, port = text[1:].partition("]")
        if not mark or (port and not port.startswith(":")):
            raise SetupError(f"'{text}' is not a target: write an IPv6 address as [2001:db8::7]:80")
        port = port[1:]
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise SetupError(
            f"'{text}' is not a target: give HOST, HOST:PORT (port 1 to 65535), "
            f"{', '.join(LABS)}, or sim:NAME or lab:NAME of a mutant"
            + did_you_mean(text, own_targets())
        )
    return host, int(port) if port else default


def resolve(host: str, families: Sequence[int] | None) -> dict[int, Address]:
    """One address of each family that a host has. Raises SetupError where there is none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SetupError(
            f"no such host: '{host}' ({why}); check the name or give an address" + _meant(host)
        ) from None
    addresses: dict[int, Address] = {}
    for *_, sockaddr in found:
        address = ip_address(str(sockaddr[0]).partition("%")[0])
        if families is None or address.version in families:
            addresses.setdefault(address.version, address)
    if not addresses:
        raise SetupError(f"'{host}' has no IPv{families[0] if families else 4} address")
    return addresses


def _meant(host: str) -> str:
    """Whoever writes `linux` may mean `lab:linux`; the name of a host in the network may be near
    any of the mutants by chance."""
    known = own_targets()
    return next((f"; did you mean '{each}'?" for each in known if each[4:] == host), "")
