"""The C library's calls, as the kernel sees them: any pointer, any length, the true errno.

A call releases Python's global lock, so that others run while it blocks.
"""

from __future__ import annotations

import ctypes
import os
import time
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_int16,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_ulong,
    c_void_p,
)
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scapy_tfo.pkt.syscalls.values import CallError

_MESSAGE = [c_int, c_void_p, c_int]
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "socket": (c_int, [c_int, c_int, c_int]),
    "bind": (c_int, [c_int, c_char_p, c_uint]),
    "listen": (c_int, [c_int, c_int]),
    "accept": (c_int, [c_int, c_void_p, c_void_p]),
    "accept4": (c_int, [c_int, c_void_p, c_void_p, c_int]),
    "connect": (c_int, [c_int, c_char_p, c_uint]),
    "close": (c_int, [c_int]),
    "shutdown": (c_int, [c_int, c_int]),
    "read": (c_ssize_t, [c_int, c_void_p, c_size_t]),
    "write": (c_ssize_t, [c_int, c_void_p, c_size_t]),
    "readv": (c_ssize_t, [c_int, c_void_p, c_int]),
    "writev": (c_ssize_t, [c_int, c_void_p, c_int]),
    "recv": (c_ssize_t, [c_int, c_void_p, c_size_t, c_int]),
    "send": (c_ssize_t, [c_int, c_void_p, c_size_t, c_int]),
    "recvfrom": (c_ssize_t, [c_int, c_void_p, c_size_t, c_int, c_void_p, c_void_p]),
    "sendto": (c_ssize_t, [c_int, c_void_p, c_size_t, c_int, c_char_p, c_uint]),
    "recvmsg": (c_ssize_t, _MESSAGE),
    "sendmsg": (c_ssize_t, _MESSAGE),
    "sendfile": (c_ssize_t, [c_int, c_int, c_void_p, c_size_t]),
    "splice": (c_ssize_t, [c_int, c_void_p, c_int, c_void_p, c_size_t, c_uint]),
    "getsockopt": (c_int, [c_int, c_int, c_int, c_void_p, c_void_p]),
    "setsockopt": (c_int, [c_int, c_int, c_int, c_void_p, c_uint]),
    # fcntl() and ioctl() may have a third argument; it is given as a value of ctypes.
    "fcntl": (c_int, [c_int, c_int]),
    "ioctl": (c_int, [c_int, c_ulong]),
    "poll": (c_int, [c_void_p, c_ulong, c_int]),
    "epoll_create": (c_int, [c_int]),
    "epoll_ctl": (c_int, [c_int, c_int, c_int, c_void_p]),
    "epoll_wait": (c_int, [c_int, c_void_p, c_int, c_int]),
    "pipe": (c_int, [c_void_p]),
    "open": (c_int, [c_char_p, c_int]),
    "capget": (c_int, [c_void_p, c_void_p]),
    "capset": (c_int, [c_void_p, c_void_p]),
}

_SCHEDULING = Path("/proc/thread-self/schedstat")


class Iovec(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("base", c_void_p), ("length", c_size_t))


class MessageHeader(ctypes.Structure):
    """`struct msghdr`."""

    _fields_ = (
        ("name", c_void_p),
        ("name_length", c_uint32),
        ("iovecs", POINTER(Iovec)),
        ("iovec_count", c_size_t),
        ("control", c_void_p),
        ("control_length", c_size_t),
        ("flags", c_int),
    )


class PollDescriptor(ctypes.Structure):
    """`struct pollfd`."""

    _fields_ = (("descriptor", c_int), ("events", c_int16), ("returned", c_int16))


class EpollEvent(ctypes.Structure):
    """`struct epoll_event`; its data as the widest member of the union."""

    # The kernel packs it on x86-64 alone, so that 32-bit programs see the same bytes.
    if os.uname().machine == "x86_64":
        _pack_ = 1
    _fields_ = (("events", c_uint32), ("data", c_uint64))


@dataclass(frozen=True)
class Timing:
    """When a call was made: CLOCK_REALTIME right before and after, ns.

    queued: ns for which the thread could have run in between and the scheduler ran others; measured
    for calls that are expected to block, else 0. A return that is late by this much is not the
    kernel's. Nor is the wait for Python's global lock, which is part of after - before: up to
    sys.getswitchinterval() where another thread computes.
    """

    before: int
    after: int
    queued: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a call returned. errno: 0 where none was set."""

    result: int
    errno: int
    timing: Timing


@cache
def function(name: str) -> Any:
    """The C library's function. Raises CallError where the system has none of that name."""
    try:
        found = ctypes.CDLL(None, use_errno=True)[name]
    except AttributeError as error:
        raise CallError(f"this system has no {name}()") from error
    found.restype, found.argtypes = _SIGNATURES[name]
    return found


def call(name: str, arguments: tuple[Any, ...], *, blocks: bool = False) -> Outcome:
    """Call it. blocks: also measure how long this thread waited for a processor."""
    called = function(name)
    queued = queued_so_far() if blocks else 0
    ctypes.set_errno(0)
    before = time.time_ns()
    result = called(*arguments)
    after = time.time_ns()
    errno = ctypes.get_errno()
    if blocks:
        # What came before the call and behind it is measured with it, and makes no return late.
        queued = min(queued_so_far() - queued, after - before)
    return Outcome(result, errno, Timing(before, after, queued))


def queued_so_far() -> int:
    """Ns for which this thread was ready and did not run; 0 where the kernel does not count it."""
    try:
        return int(_SCHEDULING.read_bytes().split()[1])
    except (OSError, IndexError):
        return 0
