"""A script's process on loopback that is given its calls line by line."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.syscalls import Endpoints, Prepared, Process, Symbol

PATIENCE = 5
"""Seconds until something that has to happen on loopback did not."""


def call_of(line: str) -> tree.Syscall:
    """The call in a line of a script."""
    action = parse(f"+0 {line}").events[0].action
    assert isinstance(action, tree.Syscall)
    return action


class Script:
    """Both ends of its conversations are its own: it listens where it connects to."""

    def __init__(
        self, address: str = "127.0.0.1", *, mapped: bool = False, **symbols: Symbol
    ) -> None:
        own = ip_address(address)
        port = free_port(address)
        self.process = Process(Endpoints(own, own, port, port, mapped), symbols)

    def prepare(self, line: str) -> Prepared:
        return self.process.prepare(call_of(line))

    def says(self, line: str) -> list[str]:
        """What is different from this line, in words."""
        return [str(each) for each in self.prepare(line).run()]

    def goes(self, *lines: str) -> None:
        """All of this happens as it stands there."""
        for line in lines:
            assert self.says(line) == [], line

    def listens(self) -> None:
        """As file descriptor 3."""
        self.goes(
            "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
            "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
            "bind(3, ..., ...) = 0",
            "listen(3, 1) = 0",
        )

    def talks(self) -> None:
        """3 listens, 4 is accepted from it, 5 is the client's end."""
        self.listens()
        self.goes(
            "socket(..., SOCK_STREAM, IPPROTO_TCP) = 5",
            "connect(5, ..., ...) = 0",
            "accept(3, ..., ...) = 4",
        )


def free_port(address: str) -> int:
    """A port that nobody has now."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


def until_asleep(prepared: Prepared) -> None:
    """Wait until the call blocks in the kernel."""
    end = time.monotonic() + PATIENCE
    while not prepared.is_asleep:
        assert time.monotonic() < end, "it does not block"
        time.sleep(0.001)


@pytest.fixture
def script() -> Iterator[Script]:
    if sys.platform != "linux":
        pytest.skip("the system calls of Linux")
    made = Script()
    yield made
    made.process.close()


@pytest.fixture
def talking(script: Script) -> Script:
    script.talks()
    return script
