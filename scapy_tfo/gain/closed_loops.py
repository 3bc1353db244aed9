"""Runs clients that make many short transactions with a server that is kept on one core."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.ends.namespaces import KernelClient, Nginx
from scapy_tfo.gain.link import carrier, connect
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.names import VETH
from scapy_tfo.gain.veth import Veth
from scapy_tfo.lab.links.emulator import Emulator
from scapy_tfo.lab.process.priority import go_first
from scapy_tfo.lab.process.times import processor_seconds

_LOOP = Path(__file__).parent / "ends" / "closed_loop.py"
_PATIENCE = 30.0
_START = 0.02
"""Seconds until all clients start together: enough to send each of them the time."""

_CALIBRATIONS, _LOOK, _ROUND_TRIPS = 5, 0.15, 8
"""How often handshakes are measured to set a link's delay, and for how many seconds: a time, and so
many round trips."""

_GUARD = 0.2
"""Part of a round-trip time by which the ends may take longer than in the least of all handshakes.
What a cold cache costs is within it, what an idle processor's wake-up costs is not."""

_EVERY, _ALL = 16, 1
"""Handshakes are looked up in the kernel one in so many, because that costs time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """count: transactions. seconds: from the start that all clients have in common to the end of
    the last transaction, or of the time that was asked for. client_busy: part of it that the
    clients computed, of the cores that they could have. server_cpu: seconds of processor time of
    the server; server_busy: the part of the time. Both have in them what the kernel took to receive
    for them, where that can be told. rtt: in seconds, as handshakes saw it (the median), with TCP
    alone; least_rtt: the least. early:
    part of the fast opens looked at, every 16th, whose data the server took from the SYN; None with
    TCP."""

    count: int
    seconds: float
    client_busy: float
    server_cpu: float
    rtt: float | None
    early: float | None
    least_rtt: float | None = None

    @property
    def server_busy(self) -> float:
        """Part of the time on its core."""
        return self.server_cpu / self.seconds

    @property
    def rate(self) -> float:
        """Transactions a second."""
        return self.count / self.seconds


class PinnedServer:
    """nginx on one core, the emulator on another, clients on the rest, as far as there are so many;
    and two links between: a veth pair with nothing on the way, and one that delays. size: of the
    file that the server has, in bytes. line: what the latter does.

    link: who makes the one that is in use. core: the server's, None where there is one alone. bare:
    whether there is the veth pair; why: else why not. whole: whether the server's processor time
    has the kernel's for receiving in it, on the veth pair. Raises SetupError where the host does
    not allow it, or has no nginx.
    """

    def __init__(self, size: int, line: Line = BARE) -> None:
        self._line = line
        self._kind = carrier(self._line)
        cores = sorted(os.sched_getaffinity(0))
        self.core = cores[-1] if len(cores) > 1 else None
        self._others = set(cores[:-2] or cores[:1])
        # With two cores it goes wherever nobody computes: those at the ends take turns.
        self._between = {cores[-2]} if len(cores) > 2 else set(cores)
        self._size = size
        self._path = f"/bytes/{size}"
        with contextlib.ExitStack() as undo:
            self._client = KernelClient()
            undo.callback(self._client.close)
            self._server = Nginx([size])
            undo.callback(self._server.close)
            self._delaying = connect(self._client, self._server, self._kind)
            undo.callback(self._delaying.close)
            self._veth, self.why = self._bare()
            self._place()
            self._undo = undo.pop_all()
        self.link = self._kind
        self.bare = self._veth is not None
        self.whole = self._veth is not None and self._veth.server_thread is not None
        self._address = self._server.address

    def _bare(self) -> tuple[Veth | None, str]:
        try:
            return Veth(self._client, self._server.lab.pid), ""
        except SetupError as error:
            return None, str(error)

    def _place(self) -> None:
        """Each on its cores, where there are two or more, and before what else runs there."""
        veth = self._veth
        ours = [self._server.lab.pid, veth.server_thread if veth else None]
        theirs = [veth.client_thread if veth else None]
        own = self._others if self.core is None else {self.core}
        for cores, those in ((own, ours), (self._others, theirs)):
            for pid in filter(None, those):
                # A thread of the kernel's may be one that must not be moved.
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(pid, cores)
                go_first(pid)
        if isinstance(self._delaying, Emulator):
            os.sched_setaffinity(self._delaying.pid, self._between)

    def use_bare(self) -> None:
        """From now on by the veth pair, where there is one, else by the other without delay."""
        if self._veth is None:
            self.use_link(0.0)
        else:
            self._address, self.link = self._veth.address, VETH

    def use_link(self, rtt: float) -> None:
        """From now on over the link that delays, and is set such that handshakes see this
        round-trip time, in seconds, or as little as the link takes itself; what its line adds comes
        on top.

        What link and ends take themselves is the median of the medians of several runs, so that a
        run that something disturbed does not count; and as noise makes handshakes longer, never
        shorter, at most `_GUARD` of the round-trip time above the least of all. Raises TargetError.
        """
        self._address, self.link = self._server.address, self._kind
        delays, least = rtt, inf
        typical: list[float] = []
        for _ in range(_CALIBRATIONS if rtt else 0):
            self._delaying.set(*BARE.shapes(delays))
            seen = self.loop("tcp", _LOOK + _ROUND_TRIPS * rtt, 1, every=_ALL)
            if seen.rtt is not None and seen.least_rtt is not None:
                least = min(least, seen.least_rtt - delays)
                typical.append(seen.rtt - delays)
                delays = max(rtt - min(median(typical), least + _GUARD * rtt), 0.0)
        self._delaying.set(*self._line.shapes(delays))

    def loop(
        self,
        way: str,
        seconds: float,
        clients: int,
        rate: float | None = None,
        every: int = _EVERY,
    ) -> Loop:
        """Transactions one after another for so many seconds, in so many processes at a time.

        rate: a second, of all together; None for as many as there can be. every: one handshake of
        so many is looked up. Raises TargetError where one fails, or its answer is not the file.
        """
        words = [str(self._address), str(self._server.port), self._path]
        words += [str(self._size), way, str(seconds), str(every)]
        # They take turns: all at once would be a burst.
        paces = [[str(clients / rate), str(each / rate)] if rate else [] for each in range(clients)]
        running: list[subprocess.Popen[bytes]] = []
        try:
            for pace in paces:
                running.append(self._start([*words, *pace]))
            for each in running:
                _await_ready(each)
            # From here to the start nobody computes for a transaction, nor after the last.
            server, receiving = self._server_cpu(), self.receiving[0]
            began = _begin(running)
            told = [_told(each, _START + seconds + _PATIENCE) for each in running]
        finally:
            for each in running:
                each.kill()
                each.communicate()
        seconds = max(seconds, *(each["ended"] - began for each in told))
        computed = sum(each["cpu"] for each in told) + self.receiving[0] - receiving
        rtts = [rtt for each in told for rtt in each["rtts"]]
        early = [taken for each in told for taken in each["early"]]
        cores = min(clients, len(self._others))
        return Loop(
            count=sum(each["count"] for each in told),
            seconds=seconds,
            client_busy=computed / seconds / cores,
            server_cpu=self._server_cpu() - server,
            rtt=median(rtts) if rtts else None,
            least_rtt=min(rtts, default=None),
            early=fmean(early) if early else None,
        )

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LOOP), *words],
            preexec_fn=self._client.entering(self._others),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @property
    def receiving(self) -> tuple[float, float]:
        """Seconds of processor time that the kernel took so far to receive on the veth pair, for
        the client and for the server; 0 where that cannot be seen."""
        veth = self._veth
        threads = (veth.client_thread, veth.server_thread) if veth else (None, None)
        return _spent(threads[0]), _spent(threads[1])

    def _server_cpu(self) -> float:
        """Of the server and of the thread that receives for it."""
        return self._server.cpu() + self.receiving[1]

    def close(self) -> None:
        """Give everything back. Harmless when called twice."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _spent(thread: int | None) -> float:
    """Seconds of processor time of a thread of the kernel's, 0 where it cannot be seen."""
    if thread is None:
        return 0.0
    return processor_seconds(thread)


def _await_ready(client: subprocess.Popen[bytes]) -> None:
    """Raises TargetError."""
    assert client.stdout is not None
    if not select.select([client.stdout], [], [], _PATIENCE)[0]:
        raise TargetError("a client for the transactions does not start")
    if not client.stdout.readline():
        _told(client, _PATIENCE)


def _begin(clients: list[subprocess.Popen[bytes]]) -> float:
    """Let all start at one time, which is returned (CLOCK_MONOTONIC): else the first would have
    the server, and the core that they share, for itself until the last has been started."""
    began = time.monotonic() + _START
    for each in clients:
        assert each.stdin is not None
        each.stdin.write(f"{began!r}\n".encode())
        each.stdin.flush()
    return began


def _told(client: subprocess.Popen[bytes], patience: float) -> dict[str, Any]:
    """Its figures once it has ended. Raises TargetError."""
    try:
        out, errors = client.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        raise TargetError("a transaction does not end") from None
    if client.returncode or not out:
        said = errors.decode(errors="replace").strip().splitlines()
        raise TargetError(f"a transaction failed: {said[-1] if said else 'no reason given'}")
    figures: dict[str, Any] = json.loads(out)
    return figures
