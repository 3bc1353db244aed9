"""Measures the kernel's time for a fast open, and the part of the cookie's check in it.

We write SYNs with data into the server's TUN device. All of the kernel's work for a SYN, soft
interrupts included, up to its SYN-ACK, happens within that call. Three listeners get the same SYNs,
in a random order: one requires the cookie, the other two do not; the difference between these two
is the control. The median of the calls leaves out interrupted ones.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from scapy_tfo import option as opt
from scapy_tfo.errors import TargetError
from scapy_tfo.gain.measuring.control import NANOSECONDS, refusal
from scapy_tfo.gain.measuring.estimate import Estimate, typical
from scapy_tfo.lab.kernel.target import MTU, SOURCES, TARGETS
from scapy_tfo.lab.process.namespace_holder import Holder
from scapy_tfo.segment import SYN, Segment
from scapy_tfo.wire import ip_header

Volley = tuple[float, float, float]
"""Nanoseconds for a SYN at each of the listeners, the median of some."""

_LISTENERS = ("cookie", "none", "none")
_CLIENT, _SERVER = SOURCES[4][0], TARGETS[4].ip
_EACH = 64
_PORTS = range(1024, 65536)
_DATA = b"GET /bytes/100 HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n"
_LARGEST = 1 << 16
_PATIENCE, _POLL = 5.0, 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCost:
    """Nanoseconds for one SYN with data, from the device to the SYN-ACK.

    checked, unchecked: with a valid cookie that is required, and where none is. check: what the
    first takes more. control: what one listener without takes more than another. refused: why
    `check` is no result, "" where it is one; it is None where it is withheld for that.
    """

    checked: Estimate
    unchecked: Estimate
    check: Estimate | None
    control: Estimate
    refused: str = ""


def cost(volleys: Sequence[Volley]) -> KernelCost:
    """What they say together. Raises SetupError where NumPy is missing."""
    checked, unchecked, again = zip(*volleys, strict=True)
    check, control = (
        typical([one - other for one, other in zip(those, unchecked, strict=True)])
        for those in (checked, again)
    )
    return KernelCost(
        checked=typical(checked),
        unchecked=typical(unchecked),
        check=check,
        control=control,
        refused=refusal(check, control, NANOSECONDS),
    )


def measure(rounds: int) -> Iterator[Volley]:
    """Fire so many volleys. Raises SetupError where the host does not allow it, TargetError where
    a fast open is not accepted."""
    config = {
        "sysctls": {},
        "mtu": MTU,
        "families": (4,),
        "addresses": [str(TARGETS[4])],
        "listeners": _LISTENERS,
    }
    agent = "scapy_tfo.gain.ends.listening_agent"
    with contextlib.ExitStack() as undo:
        name = "the server's namespace"
        holder = Holder(agent, config, descriptors=1 + len(_LISTENERS), name=name)
        undo.callback(holder.close)
        tun, *listeners = holder.given
        undo.callback(os.close, tun)
        sockets = [undo.enter_context(socket.socket(fileno=each)) for each in listeners]
        server = _Server(tun, sockets, holder.said["ports"])
        server.volley()
        for _ in range(rounds):
            yield server.volley()


class _Server:
    def __init__(self, tun: int, listeners: Sequence[socket.socket], ports: Sequence[int]) -> None:
        self._tun = tun
        self._listeners = listeners
        self._ports = ports
        self._clients = itertools.cycle(_PORTS)
        self._dice = random.Random(0)
        self._options = opt.push_options([opt.mss(1460), opt.fast_open(self._cookie())])

    def volley(self) -> Volley:
        """The connections are gone when it returns. Raises TargetError."""
        order = [number for number in range(len(_LISTENERS)) for _ in range(_EACH)]
        self._dice.shuffle(order)
        syns = [self._syn(number, _DATA, self._options, next(self._clients)) for number in order]
        taken: list[list[int]] = [[] for _ in _LISTENERS]
        tun = self._tun
        for number, syn in zip(order, syns, strict=True):
            began = time.perf_counter_ns()
            os.write(tun, syn)
            taken[number].append(time.perf_counter_ns() - began)
        accepted = sum(self._accept_all(number) for number in range(len(_LISTENERS)))
        self._drain()
        if accepted < len(order):
            raise TargetError(f"the kernel accepted {accepted} of {len(order)} fast opens")
        checked, unchecked, again = (median(each) for each in taken)
        return checked, unchecked, again

    def _accept_all(self, number: int) -> int:
        """Take and reset what has connected; data that nobody read makes closing a reset."""
        for count in range(_EACH):
            try:
                found, _ = self._listeners[number].accept()
            except BlockingIOError:
                return count
            found.close()
        return _EACH

    def _cookie(self) -> bytes:
        asking = opt.push_options([opt.mss(1460), opt.fast_open()])
        # From a port of its own: it stays half open.
        os.write(self._tun, self._syn(0, b"", asking, _PORTS.start - 1))
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for packet in self._drain():
                cookie = Segment.from_bytes(packet).cookie
                if cookie:
                    return cookie
            time.sleep(_POLL)
        raise TargetError("the kernel gave no cookie: can net.ipv4.tcp_fastopen be set to 3?")

    def _syn(self, number: int, data: bytes, options: bytes, port: int) -> bytes:
        return Segment(
            src=_CLIENT,
            dst=_SERVER,
            sport=port,
            dport=self._ports[number],
            seq=self._dice.getrandbits(32),
            flags=SYN,
            options=options,
            payload=data,
        ).to_bytes()

    def _drain(self) -> list[bytes]:
        found: list[bytes] = []
        while True:
            try:
                packet = os.read(self._tun, _LARGEST)
            except BlockingIOError:
                return found
            # The kernel looks for IPv6 routers, too.
            if ip_header.destination(packet) == _CLIENT.packed:
                found.append(packet)
