"""Network namespaces that only this process holds: they are gone when it ends, however it ends."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from scapy_tfo.segment import Address, Segment
from scapy_tfo.wire.link import Link
from scapy_tfo.wire.links.tun import open_tun

CLONE_NEWNET = 0x40000000
TCP_FASTOPEN = 23
_LIBC = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int) -> None:
    if getattr(_LIBC, name)(*arguments):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


class Namespace:
    """A network namespace, held by a file descriptor alone."""

    def __init__(self) -> None:
        with _going_back():
            _call("unshare", CLONE_NEWNET)
            self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            ip("link set lo up")
            Path("/proc/sys/net/ipv4/tcp_fastopen").write_text("3")

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    @contextmanager
    def entered(self) -> Iterator[None]:
        with _going_back():
            _call("setns", self.fd, CLONE_NEWNET)
            yield


@contextmanager
def _going_back() -> Iterator[None]:
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        _call("setns", home, CLONE_NEWNET)
        os.close(home)


def ip(command: str) -> str:
    return subprocess.run(
        ["ip", *command.split()], check=True, capture_output=True, text=True
    ).stdout


def resets_sent() -> int:
    """RSTs that the kernel of this namespace has sent."""
    rows = [
        line.split()
        for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()
        if line.startswith("Tcp:")
    ]
    return int(dict(zip(*rows, strict=True))["OutRsts"])


def listener(address: Address) -> socket.socket:
    """A kernel listener with fast open on."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.bind((str(address), 0))
    sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 16)
    sock.listen(16)
    return sock


def unheard(_packet: bytes, _when: float) -> None:
    """A receiver for what nobody reads."""


class Inbox:
    """What a link hands in."""

    def __init__(self, link: Link) -> None:
        self._queue: asyncio.Queue[tuple[bytes, float]] = asyncio.Queue()
        link.start(lambda packet, when: self._queue.put_nowait((packet, when)))

    async def packet(self) -> tuple[bytes, float]:
        return await asyncio.wait_for(self._queue.get(), 5)

    async def segment(self) -> Segment:
        return Segment.from_bytes((await self.packet())[0])

    async def syn_ack(self, to: Address) -> Segment:
        """The next SYN-ACK for an address; passes over the rest."""
        while True:
            segment = await self.segment()
            if segment.is_syn_ack and segment.dst == to:
                return segment

    async def answer(self, send: Callable[[], None], to: Address) -> Segment:
        """The SYN-ACK that `send` brings. It is called again until one comes: IPv6 is ready some
        time after its interface is up."""
        for _ in range(20):
            send()
            with suppress(TimeoutError):
                return await asyncio.wait_for(self.syn_ack(to), 0.3)
        raise TimeoutError

    async def is_silent(self, seconds: float = 0.05) -> bool:
        await asyncio.sleep(seconds)
        return self._queue.empty()


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """A fresh namespace, entered for the whole test."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it makes network namespaces and opens raw sockets")
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed: apt-get install iproute2")
    fresh = Namespace()
    with fresh.entered():
        yield fresh
    os.close(fresh.fd)


@pytest.fixture
def tap(namespace: Namespace) -> Iterator[int]:
    """A bare TAP called tap0, up, and the descriptor of whoever is behind it."""
    del namespace  # It is entered, and that is all that is needed of it.
    fd, _ = open_tun("tap0", layer2=True)
    ip("link set tap0 addrgenmode none")
    ip("link set tap0 up")
    yield fd
    os.close(fd)


@pytest.fixture
def neighbour(namespace: Namespace) -> Iterator[Namespace]:
    """Another host: 10.7.0.2 and fd07::2, behind our veth0, which has no address."""
    del namespace  # It is entered, and that is all that is needed of it.
    other = Namespace()
    ip("link add veth0 type veth peer name veth1")
    ip(f"link set veth1 netns {other.path}")
    ip("link set veth0 addrgenmode none")
    ip("link set veth0 up")
    with other.entered():
        ip("address add 10.7.0.2/24 dev veth1")
        ip("address add fd07::2/64 dev veth1 nodad")
        # Its link-local address answers at once, and not after a second of looking for others.
        if (detection := Path("/proc/sys/net/ipv6/conf/veth1/accept_dad")).exists():
            detection.write_text("0")
        ip("link set veth1 up")
    yield other
    os.close(other.fd)
