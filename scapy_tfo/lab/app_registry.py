"""The applications by name, and what one asks of the listener that it stands behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from scapy_tfo.lab import apps
from scapy_tfo.lab.apps import MAX_DELAY, MAX_KEY, MAX_LISTENERS, MAX_WRITE, App
from scapy_tfo.lab.sessions import SessionLog

AppFactory = Callable[[], asyncio.Protocol]

APPS: dict[str, type[App]] = {
    "echo": apps.Echo,
    "http": apps.Http,
    "send": apps.Send,
    "reno": apps.Reno,
    "send-close": apps.SendClose,
    "two-sends": apps.TwoSends,
    "close": apps.Close,
    "abort": apps.Abort,
    "send-abort": apps.SendAbort,
    "mute": apps.Mute,
    "half-close": apps.HalfClose,
    "never-reads": apps.NeverReads,
    "think": apps.Think,
    "slow-reader": apps.SlowReader,
    "late-close": apps.LateClose,
    "close-unread": apps.CloseUnread,
    "late-accept": apps.LateAccept,
    "shared": apps.Shared,
    "signed": apps.Signed,
}
"""Applications by name; those that take a number are written `name:N`."""

_LIMITS = {
    MAX_WRITE: f"size of 0 to {MAX_WRITE} bytes",
    MAX_DELAY: f"time of 0 to {MAX_DELAY} milliseconds",
    MAX_LISTENERS: f"number of 1 to {MAX_LISTENERS} listeners",
    MAX_KEY: f"key of 1 to {MAX_KEY} bytes",
}
"""What the number of an application is, by the most that it may be."""


def app_factory(spec: str, log: SessionLog) -> AppFactory:
    """A factory of the application that `spec` names, its connections recorded in `log`.

    Raises ValueError for a name that is not in `APPS`, or a size that is wrong.
    """
    name, colon, size = spec.partition(":")
    app = APPS.get(name)
    if app is None:
        raise ValueError(f"no application {name!r}; there are {', '.join(APPS)}")
    if app.takes_size != bool(colon):
        wanted = f"{name}:N" if app.takes_size else name
        raise ValueError(f"application {spec!r} should read {wanted!r}")
    if not colon:
        return lambda: app(log)
    if not (size.isascii() and size.isdigit() and app.least <= int(size) <= app.limit):
        raise ValueError(f"application {spec!r}: a {_LIMITS[app.limit]} is wanted")
    return lambda: app(log, int(size))


def accepts_after(spec: str) -> float:
    """Seconds for which a connection waits for the application that `app_factory` made of this."""
    name, _, number = spec.partition(":")
    return int(number) / 1000 if APPS[name] is apps.LateAccept else 0.0


def listeners_of(spec: str) -> int:
    """How many listeners the application has on its port (SO_REUSEPORT)."""
    name, _, number = spec.partition(":")
    return int(number) if APPS[name] is apps.Shared else 1


def md5_key_of(spec: str) -> bytes:
    """The key with which connections to the application are signed; b"" where they are not."""
    name, _, number = spec.partition(":")
    return md5_key(int(number)) if APPS[name] is apps.Signed else b""


def md5_key(size: int) -> bytes:
    """The key of so many bytes, as docs/hooks.md gives it."""
    return b"k" * size
