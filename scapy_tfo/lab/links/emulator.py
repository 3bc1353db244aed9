"""A process that carries packets between two TUN devices, as a link of a given shape would.

Started as `python -m scapy_tfo.lab.links.emulator CONTROL NEAR FAR`, with three descriptors. A line
of JSON on the control socket sets the shapes, `{"onward": {...}, "homeward": {...}}`; the answer is
a line with the packets dropped and lost since the line before. The process ends when the other end
of the socket is closed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import select
import signal
import socket
import sys
import time

from scapy_tfo.lab.links.link_model import Direction, Shape
from scapy_tfo.lab.links.link_process import LARGEST, LinkProcess
from scapy_tfo.lab.process.priority import LINK, go_first

_AT_ONCE = 16
"""Packets to read before those that are due are written: they take some 10 us each."""

_SPIN = 0.0002
"""Seconds before a packet is due from which we wait busily: the scheduler is no more exact."""

_LONGEST_WAIT = 1.0
_PR_SET_TIMERSLACK = 29


class Emulator(LinkProcess):
    """A link between two descriptors of TUN devices, which stay the caller's.

    Packets that come out of `near` go onward, into `far`. What `set` returns is how many were
    dropped and lost before. Raises SetupError where the process does not start.
    """

    def __init__(self, near: int, far: int) -> None:
        words = [str(each) for each in (near, far)]
        super().__init__("scapy_tfo.lab.links.emulator", words, (near, far))


class _Carrier:
    """near, far: descriptors. control: where shapes come from."""

    def __init__(self, control: socket.socket, near: int, far: int) -> None:
        self._control = control
        self._ends = {near: far, far: near}
        self._near = near
        dice = random.Random(0)
        self._ways = {near: Direction(Shape(), dice), far: Direction(Shape(), dice)}

    def run(self) -> None:
        """Carry until the control socket is closed."""
        descriptors = [self._control.fileno(), *self._ends]
        while True:
            now = time.monotonic()
            due = min((way.due for way in self._ways.values() if way.due is not None), default=None)
            wait = _LONGEST_WAIT if due is None else max(due - now - _SPIN, 0.0)
            ready, _, _ = select.select(descriptors, [], [], min(wait, _LONGEST_WAIT))
            for descriptor in ready:
                if descriptor == self._control.fileno():
                    if not self._reshape():
                        return
                else:
                    self._read(descriptor)
            self._write()

    def _read(self, descriptor: int) -> None:
        way = self._ways[descriptor]
        for _ in range(_AT_ONCE):
            try:
                packet = os.read(descriptor, LARGEST)
            except OSError:
                return
            way.put(packet, time.monotonic())

    def _write(self) -> None:
        now = time.monotonic()
        for descriptor, way in self._ways.items():
            for packet in way.take(now):
                # A full device loses packets, as any does.
                with contextlib.suppress(OSError):
                    os.write(self._ends[descriptor], packet)

    def _reshape(self) -> bool:
        line = self._control.recv(LARGEST)
        if not line:
            return False
        wanted = json.loads(line)
        told = {
            "dropped": sum(way.dropped for way in self._ways.values()),
            "lost": sum(way.lost for way in self._ways.values()),
        }
        dice = random.Random(0)
        for descriptor in self._ends:
            name = "onward" if descriptor == self._near else "homeward"
            self._ways[descriptor] = Direction(Shape(**wanted[name]), dice)
        self._control.sendall(json.dumps(told).encode() + b"\n")
        return True


def main() -> None:
    control, near, far = (int(each) for each in sys.argv[1:4])
    for descriptor in (near, far):
        os.set_blocking(descriptor, False)
    # Ctrl-C is for who started us; we end when the control socket is closed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A link must not be late because somebody computes, or saves power.
    go_first(priority=LINK)
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    with socket.socket(fileno=control) as sock:
        _Carrier(sock, near, far).run()


if __name__ == "__main__":
    main()
