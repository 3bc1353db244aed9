"""The process that holds a link's namespace: a router, with netem on its devices and at both ends.

Started by `scapy_tfo.lab.links.netem` as `python -m scapy_tfo.lab.links.netem_agent CONTROL
CONFIG`. CONFIG is JSON: null tries whether such a link is possible. Otherwise it holds the ids of
two processes, "client" and "server", whose namespaces get an end each, and the networks that are
reached "onward", from the client, and "homeward". The process writes {} when it is ready, and then
reads shapes as `scapy_tfo.lab.links.link_process` describes. The devices go with this process.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel import interface
from scapy_tfo.lab.links import qdisc
from scapy_tfo.lab.links.link_model import Shape
from scapy_tfo.lab.links.link_process import LARGEST
from scapy_tfo.lab.links.netem import DEVICE
from scapy_tfo.lab.process import namespace

_CLONE_NEWNET = 0x40000000
_IFF_NOARP = 0x80
_MAC = "02:00:00:74:66:6f"
"""Of every device: frames are for whoever is at the other end, and nobody has to ask."""

_MTU = 1500
_SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
}
_QUIET = {"net.ipv6.conf.default.disable_ipv6": "1"}
_TRIAL = Shape(delay=0.001, rate=1e6, queue=10_000, reorder=0.1)

_libc = ctypes.CDLL(None, use_errno=True)


class Way:
    """One direction: the device that it begins with, and the one by which it leaves the router."""

    def __init__(self, start: qdisc.Device, middle: qdisc.Device) -> None:
        self._start, self._middle = start, middle

    def set(self, shape: Shape) -> None:
        """Raises SetupError."""
        self._start.set(qdisc.first(shape))
        self._middle.set(qdisc.second(shape))


def enter() -> None:
    """A namespace of our own. Raises SetupError where it takes a user namespace, too: from there
    nobody reaches into others."""
    before = os.readlink("/proc/self/ns/user")
    namespace.enter_namespace()
    if os.readlink("/proc/self/ns/user") != before:
        raise SetupError("a veth pair between two namespaces needs root")
    namespace.write_sysctls(_SYSCTLS, required=True)
    namespace.write_sysctls(_QUIET, required=False)


def try_netem() -> None:
    """Raises SetupError where this kernel lacks what a link takes."""
    device = qdisc.Device("lo")
    for chain in (qdisc.first(_TRIAL), qdisc.second(_TRIAL), []):
        device.set(chain)
    device.close()


def connect(config: Mapping[str, Any]) -> tuple[Way, Way]:
    """Onward and homeward. Raises SetupError, OSError."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    starts = {}
    for end, networks in (("client", config["onward"]), ("server", config["homeward"])):
        there = os.open(f"/proc/{config[end]}/ns/net", os.O_RDONLY)
        _add_pair(end, there)
        _enter(there)
        _prepare(DEVICE, networks)
        starts[end] = qdisc.Device(DEVICE)
        _enter(here)
        os.close(there)
    middles = {}
    for end, networks in (("server", config["onward"]), ("client", config["homeward"])):
        _prepare(end, networks)
        middles[end] = qdisc.Device(end)
    for end in middles:
        interface.await_running(end)
    return Way(starts["client"], middles["server"]), Way(starts["server"], middles["client"])


def _add_pair(name: str, there: int) -> None:
    """name: of the end that stays here. there: the other's namespace."""
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    peer = {"ifname": DEVICE, "net_ns_fd": there, "address": _MAC}
    try:
        with IPRoute() as netlink:
            netlink.link("add", ifname=name, kind="veth", address=_MAC, peer=peer)
    except NetlinkError as error:
        why = os.strerror(error.code)
        raise SetupError(f"cannot make a veth pair between namespaces: {why}") from None


def _prepare(name: str, networks: Sequence[str]) -> None:
    """Bring a device up, with routes by it; what it sends is cut into packets before its qdiscs
    count them. Raises OSError, and SetupError where the kernel refuses it."""
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    interface.bring_up(name, mtu=_MTU)
    interface.change_flags(name, on=_IFF_NOARP)
    index = socket.if_nametoindex(name)
    try:
        with IPRoute() as netlink:
            netlink.link("set", index=index, gso_max_segs=1)
            for network in networks:
                netlink.route("replace", dst=network, oif=index, scope="link")
    except NetlinkError as error:
        told = os.strerror(error.code)
        raise SetupError(f"cannot set up {name} with its routes: {told}") from None


def _enter(place: int) -> None:
    if _libc.setns(place, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def main() -> None:
    # Ctrl-C is for who started us; we end when the control socket is closed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    try:
        enter()
        try_netem()
        ways = connect(config) if config is not None else None
    except (SetupError, OSError) as error:
        control.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    control.sendall(b"{}\n")
    while ways is not None and (line := control.recv(LARGEST)):
        wanted, told = json.loads(line), {}
        try:
            for way, name in zip(ways, ("onward", "homeward"), strict=True):
                way.set(Shape(**wanted[name]))
        except SetupError as error:
            told = {"error": str(error)}
        control.sendall(json.dumps(told).encode() + b"\n")


if __name__ == "__main__":
    main()
