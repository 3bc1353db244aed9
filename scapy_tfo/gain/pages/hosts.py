"""Links a browser's namespace with a namespace that holds all hosts of a page."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any, Self

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.link import Link
from scapy_tfo.gain.names import NETEM, OWN
from scapy_tfo.gain.pages.page import Page
from scapy_tfo.lab.kernel.agent import DEVICE
from scapy_tfo.lab.kernel.client_network import CLIENTS, SERVERS, ClientNetwork
from scapy_tfo.lab.links.emulator import Emulator
from scapy_tfo.lab.links.link_model import Shape
from scapy_tfo.lab.links.netem import DEVICE as NETEM_DEVICE
from scapy_tfo.lab.links.netem import NetemLink
from scapy_tfo.lab.process.priority import go_first

PORT = 80
_FIRST = SERVERS[4]
_HOSTS = ip_interface(f"{_FIRST}/{CLIENTS[4].network.prefixlen}")
_PLACES = str(ip_network(f"{_FIRST}/24", strict=False))
_BROWSER = f"{CLIENTS[4].ip}/32"
_SYSCTLS = {
    "net.ipv4.tcp_fastopen": "3",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.conf.all.rp_filter": "0",
}
_SERVER = Path(__file__).with_name("server.py")
_LOADER = Path(__file__).with_name("loader.py")
_START_LIMIT = 20.0
_END_LIMIT = 2.0

Answers = Mapping[str, tuple[float, str, str | int]]
"""By host and path: seconds to think, media type, and the body or its length."""


class PageHosts:
    """All hosts of a page, each with an address of its own, behind a link.

    window: segments of the servers' initial window, None for the kernel's own. link: `NETEM` or
    `OWN`. congestion: their congestion control. Raises SetupError where the host does not allow it.
    """

    def __init__(
        self, page: Page, answers: Answers, window: int | None = None, link: str = OWN
    ) -> None:
        self.addresses = {name: str(_FIRST + at) for at, name in enumerate(page.hosts)}
        with contextlib.ExitStack() as undo:
            self._client = ClientNetwork()
            undo.callback(self._client.close)
            there = {4: _HOSTS, 6: ip_interface(f"{SERVERS[6]}/64")}
            self._hosts = ClientNetwork(_SYSCTLS, there)
            undo.callback(self._hosts.close)
            self._route("add", "local", _PLACES, "dev", "lo")
            self._link = self._linked(link)
            undo.callback(self._link.close)
            if window is not None:
                device = NETEM_DEVICE if link == NETEM else DEVICE
                self._route("replace", _BROWSER, "dev", device, "initcwnd", str(window))
            self._server = self._started(answers)
            undo.callback(_end, self._server)
            self.congestion = self._server_said()
            self._undo = undo.pop_all()

    @property
    def entering(self) -> Callable[[], None]:
        """What a program of the client's side has to call between fork and exec."""
        return self._client.entering()

    def shape(self, onward: Shape, homeward: Shape) -> None:
        """Of the link from now on: from the client, and back to it."""
        self._link.set(onward, homeward)

    def load(self, work: Mapping[str, Any], patience: float) -> Iterator[dict[str, Any]]:
        """Load the page as loader.py does, and yield each load as soon as it is done.

        patience: seconds for each. Raises TargetError where a load fails or takes longer.
        """
        with self.running(_LOADER, {**work, "addresses": self.addresses}) as line:
            while (told := line(patience)) is not None:
                yield told

    @contextlib.contextmanager
    def running(
        self, program: Path, work: Mapping[str, Any]
    ) -> Iterator[Callable[[float], dict[str, Any] | None]]:
        """Run a program of ours on the client's side, with its work on the standard input.

        Yields what reads a line of its output, as JSON, for so many seconds at most; it gives None
        at the end, and raises TargetError where the time is up or the program fails.
        """
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program)],
            preexec_fn=self._client.entering(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        try:
            go_first(process.pid)
            assert process.stdin is not None
            process.stdin.write(json.dumps(dict(work)).encode())
            process.stdin.close()
            yield lambda patience: _line(process, patience)
        finally:
            _end(process)

    def close(self) -> None:
        """Give everything back. Harmless when called twice."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _linked(self, kind: str) -> Link:
        if kind == NETEM:
            return NetemLink(self._client.pid, self._hosts.pid, [_BROWSER], [_PLACES])
        return Emulator(self._client.tun, self._hosts.tun)

    def _route(self, *words: str) -> None:
        """With ip-route(8), in the hosts' namespace."""
        try:
            done = subprocess.run(
                ["ip", "route", *words],
                preexec_fn=self._hosts.entering(),
                capture_output=True,
                timeout=_START_LIMIT,
            )
        except FileNotFoundError:
            raise SetupError("ip is not installed: apt-get install iproute2") from None
        if done.returncode:
            raise SetupError(f"cannot set a route for the hosts: {done.stderr.decode().strip()}")

    def _started(self, answers: Answers) -> subprocess.Popen[bytes]:
        server = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SERVER), str(PORT)],
            preexec_fn=self._hosts.entering(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        go_first(server.pid)
        assert server.stdin is not None
        try:
            server.stdin.write(json.dumps(dict(answers)).encode() + b"\n")
            server.stdin.flush()
        except OSError:
            # It has ended, and what it said is told below.
            pass
        return server

    def _server_said(self) -> str:
        assert self._server.stdout is not None
        ready, _, _ = select.select([self._server.stdout], [], [], _START_LIMIT)
        line = self._server.stdout.readline() if ready else b""
        if not line:
            raise SetupError(f"the page's server did not start: {_last_words(self._server)}")
        return line.decode().strip()


def _line(process: subprocess.Popen[bytes], patience: float) -> dict[str, Any] | None:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], patience)
    if not ready:
        raise TargetError(f"a page took more than {patience:.0f} s to load")
    line = process.stdout.readline()
    if line:
        told: dict[str, Any] = json.loads(line)
        return told
    if process.wait(_END_LIMIT):
        raise TargetError(f"a page did not load: {_last_words(process)}")
    return None


def _last_words(process: subprocess.Popen[bytes]) -> str:
    process.kill()
    process.wait()
    assert process.stderr is not None
    errors = process.stderr.read()
    said = errors.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"status {process.returncode}"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for each in (process.stdin, process.stdout, process.stderr):
        if each is not None:
            with contextlib.suppress(OSError):
                each.close()
