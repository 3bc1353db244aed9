"""Measures what fast open saves from this host to any HTTP server."""

from __future__ import annotations

import os
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.ends.namespaces import FETCHER, fetched
from scapy_tfo.gain.latency import WAYS, Cell, cell
from scapy_tfo.lab.process.namespace import die_with_parent

_SYSCTL = Path("/proc/sys/net/ipv4/tcp_fastopen")
_CLIENT_BIT = 1
_PATIENCE = 70.0
"""Seconds for a request: more than the fetcher itself waits for an answer."""

_REASONS = {
    0: "it is not known why",
    1: "there was no cookie: the server gives none, or does not take fast opens",
    2: "the server acknowledged the SYN, not its data",
    3: "the SYN with data was lost on the path, and sent again without",
}
"""By tcpi_fastopen_client_fail (linux/tcp.h)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """host: as in the URL. address: that it has here. path: with the query."""

    host: str
    address: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """For the Host field (RFC 9110 section 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """cell: its rtt is the median of what the kernel saw in handshakes. refusal: why fast opens
    were not accepted, "" where they were. statuses: of the answers, such as "200"."""

    cell: Cell
    refusal: str
    statuses: Sequence[str]


def find(url: str) -> Target:
    """`http://HOST[:PORT]/path`. Raises SetupError for another, and where it has no address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme != "http" or not url.isascii() or " " in url:
        raise SetupError(f"'{url}': write the target as http://HOST[:PORT]/path")
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SetupError(f"{host} has no address: {error.strerror}") from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(host=host, address=str(places[0][4][0]), port=port, path=path)


def measure(target: Target, times: int) -> Found:
    """times: requests of each way, one after another. Raises SetupError where this host's client
    has fast open off, TargetError where a request fails."""
    if not int(_SYSCTL.read_text()) & _CLIENT_BIT:
        raise SetupError("fast open is off for clients here: sysctl -w net.ipv4.tcp_fastopen=1")
    words = [target.address, str(target.port), target.name, target.path, str(times), "0", *WAYS]
    parent = os.getpid()
    running = {
        "args": [sys.executable, "-I", "-S", str(FETCHER), *words],
        "preexec_fn": lambda: die_with_parent(parent),
    }
    told = list(fetched(running, target.host, _PATIENCE))
    if not told:
        raise TargetError(f"no request to {target.host} was made")
    rtt = median(each["rtt"] for each in told if each["way"] != "tfo")
    size = int(median(each["bytes"] for each in told))
    found = cell(told, client="kernel", server=target.name, link="", rtt=rtt, size=size)
    return Found(
        cell=found,
        refusal=_refusal(told),
        statuses=sorted({each["status"] for each in told}),
    )


def _refusal(told: Sequence[Any]) -> str:
    refused = [each for each in told if each["way"] == "tfo" and not each["early"]]
    if not refused:
        return ""
    asked = sum(each["way"] == "tfo" for each in told)
    ((code, _),) = Counter(each["failed"] for each in refused).most_common(1)
    return f"{len(refused)} of {asked} fast opens were not accepted: {_REASONS[code]}"
