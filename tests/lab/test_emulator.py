"""A link between two kernels, our own or netem's, has the delay and the rate that were set."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable
from ipaddress import ip_interface

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.client_network import ClientNetwork
from scapy_tfo.lab.kernel.servers import RealServerLab
from scapy_tfo.lab.links import netem
from scapy_tfo.lab.links.emulator import Emulator
from scapy_tfo.lab.links.link_model import Shape
from scapy_tfo.lab.links.netem import NetemLink
from scapy_tfo.lab.process.priority import go_first

CLIENTS = {4: ip_interface("192.0.2.16/24"), 6: ip_interface("fd00:7413::10/64")}
TRIES = 20
"""Of a measurement: another process that takes the core for a moment makes one late."""

_CONNECT = """
import socket, time
took = []
for _ in range(10):
    with socket.socket() as sock:
        began = time.perf_counter()
        sock.connect(("192.0.2.1", 80))
        took.append(time.perf_counter() - began)
print(min(took))
"""
_FETCH = """
import socket, time
with socket.socket() as sock:
    sock.connect(("192.0.2.1", 80))
    sock.sendall(b"GET /bytes/100000 HTTP/1.0\\r\\n\\r\\n")
    sock.recv(1)
    began = time.perf_counter()
    while sock.recv(65536):
        pass
print(time.perf_counter() - began)
"""

Measure = Callable[[str, Shape, Shape], float]


@pytest.fixture(scope="module", params=["own", "netem"])
def measure(request):
    """Seconds that a program says it took in the client's namespace, over a link of two shapes."""
    if request.param == "netem" and (why := netem.missing()):
        pytest.skip(why)
    with contextlib.ExitStack() as undo:
        loop = asyncio.new_event_loop()
        undo.callback(loop.close)
        try:
            near = ClientNetwork(addresses=CLIENTS)
            undo.callback(near.close)
            far = loop.run_until_complete(RealServerLab.start("nginx"))
            undo.callback(far.close)
        except SetupError as error:
            pytest.skip(str(error))
        go_first(far.pid)
        if request.param == "own":
            link = Emulator(near.tun, far.descriptor)
        else:
            link = NetemLink(near.pid, far.pid, ["192.0.2.16/32"], ["192.0.2.1/32"])
        undo.callback(link.close)
        enter = near.entering()

        def begin() -> None:
            go_first()
            enter()

        def run(program: str, onward: Shape, homeward: Shape) -> float:
            link.set(onward, homeward)
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", program],
                preexec_fn=begin,
                capture_output=True,
                check=True,
            )
            return float(done.stdout)

        yield run


@pytest.mark.parametrize("rtt", [0.001, 0.02, 0.1])
def test_the_round_trip_is_held_within_a_millisecond(measure: Measure, rtt: float) -> None:
    half = Shape(delay=rtt / 2)
    assert any(rtt <= measure(_CONNECT, half, half) < rtt + 0.001 for _ in range(TRIES))


@pytest.mark.parametrize(("down", "up"), [(4e6, 256e3), (100e6, 100e6)])
def test_the_rate_is_held_within_two_percent(measure: Measure, down: float, up: float) -> None:
    """Of 100,000 bytes, the first segments go before the clock starts; each has 52 or 40 more."""
    onward, homeward = (Shape(rate=rate, queue=128 * 1024) for rate in (up, down))
    whole = 100_000 * (1 + 52 / 1448) * 8 / down
    held = (
        0.9 * whole < measure(_FETCH, onward, homeward) < 1.02 * whole + 0.001 for _ in range(TRIES)
    )
    assert any(held)
