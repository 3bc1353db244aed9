"""Makes a veth pair between two namespaces: a link with nothing in between, not even an emulator.

Each end has a kernel thread of its own that receives its packets (threaded NAPI), so that the
kernel's time for this can be measured and kept on one core. Otherwise it would be a soft interrupt
in whichever process is running.

`python -m scapy_tfo.gain.veth NAME PID`, in the namespace of one end, makes the pair: the other end
goes to the namespace of that process.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import itertools
import os
import socket
import struct
import subprocess
import sys
from ipaddress import ip_address, ip_interface
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.ends.namespaces import KernelClient
from scapy_tfo.lab.kernel import interface
from scapy_tfo.segment import Address

ADDRESSES = ip_interface("198.18.0.1/24"), ip_interface("198.18.0.2/24")
"""Addresses of the client's end and the server's."""

_SIOCETHTOOL, _SET_GRO, _SET_TSO = 0x8946, 0x2C, 0x1F
_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_PATIENCE = 20.0

_numbers = itertools.count()

_libc = ctypes.CDLL(None, use_errno=True)


class Veth:
    """The pair between a client and the namespace of the process `server`.

    address: of the server's end. client_thread, server_thread: ids of the kernel's threads that
    receive there, None where they cannot be seen. The pair goes with the namespaces. Raises
    SetupError where the host does not allow it, which it does to root alone.
    """

    def __init__(self, client: KernelClient, server: int) -> None:
        name = f"g{os.getpid()}n{next(_numbers)}"
        done = subprocess.run(
            [sys.executable, "-m", "scapy_tfo.gain.veth", name, str(server)],
            preexec_fn=client.network.entering(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise SetupError(f"cannot make a veth pair between the namespaces: {said[-1]}")
        self.address: Address = ip_address(ADDRESSES[1].ip)
        self.client_thread, self.server_thread = (_thread(f"{name}{end}") for end in "cs")


def _thread(device: str) -> int | None:
    for each in Path("/proc").glob("[0-9]*/comm"):
        try:
            if each.read_text().startswith(f"napi/{device}-"):
                return int(each.parent.name)
        except OSError:
            # That one has just ended.
            continue
    return None


def main() -> None:
    from pyroute2 import IPRoute

    name, pid = sys.argv[1:]
    there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    with IPRoute() as netlink:
        peer = {"ifname": f"{name}s", "net_ns_fd": there}
        netlink.link("add", ifname=f"{name}c", kind="veth", peer=peer)
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    for end, place, address in (("c", here, ADDRESSES[0]), ("s", there, ADDRESSES[1])):
        _check(_libc.setns(place, _CLONE_NEWNET))
        interface.bring_up(f"{name}{end}")
        interface.add_address(f"{name}{end}", address)
        _receive_in_thread(f"{name}{end}")
    interface.await_running(f"{name}s")


def _receive_in_thread(device: str) -> None:
    """Raises OSError, FileNotFoundError where the kernel is older than 5.12."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        # It is with GRO that a veth device uses NAPI, and for what another without TSO sends.
        for feature, on in ((_SET_GRO, 1), (_SET_TSO, 0)):
            value = array.array("I", [feature, on])
            at, _ = value.buffer_info()
            fcntl.ioctl(control, _SIOCETHTOOL, struct.pack("16sP16x", device.encode(), at))
    _check(_libc.unshare(_CLONE_NEWNS))
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
    # A mount shows the devices of the namespace that it was made in.
    _check(_libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None))
    Path(f"/sys/class/net/{device}/threaded").write_text("1")


def _check(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
