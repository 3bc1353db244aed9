"""Loads pages with Chromium, through a relay on its side that opens its connections."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.pages.content import OWN, start_page
from scapy_tfo.gain.pages.hosts import PORT, PageHosts
from scapy_tfo.gain.pages.page import Page
from scapy_tfo.lab.process.namespace import enter_private_tmp

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_RELAY = Path(__file__).with_name("relay.py")
_LOOPBACK = "127.1.{}.{}"
_OWN = "127.2.0.1"
_PROFILE = "/tmp/profile"
_START_LIMIT = 30.0
_END_LIMIT, _LOOK_EVERY = 5.0, 0.02

_FLAGS = (
    "--headless=new",
    # All that it loads is ours, and root has no sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--disable-features=HttpsUpgrades,MediaRouter,OptimizationHints,Translate",
    "--disk-cache-size=1",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
)


def find_browser() -> str:
    """Chromium's program. Raises SetupError where there is none."""
    for name in _PROGRAMS:
        if found := shutil.which(name):
            return found
    raise SetupError("chromium is not installed: apt-get install chromium")


def browse(
    hosts: PageHosts, page: Page, orders: Iterable[Sequence[str]], pause: float, patience: float
) -> Iterator[dict[str, Any]]:
    """Load the page once each of the ways of each order, each time with a fresh browser.

    ways: tcp, tfo or control (tcp again). Tells, load by load, the way, the seconds from the start
    of the navigation to the end of the load event as the browser has them, bytes, connections, and
    those of them whose SYN's data was accepted. patience: seconds for each load. Raises SetupError
    and TargetError.
    """
    program = find_browser()
    for order in orders:
        for way in order:
            time.sleep(pause)
            yield {"way": way, **_load(program, hosts, page, way, patience)}


def _load(program: str, hosts: PageHosts, page: Page, way: str, patience: float) -> dict[str, Any]:
    near = {
        name: _LOOPBACK.format(number // 250, number % 250 + 1)
        for number, name in enumerate(page.hosts)
    }
    work = {
        "addresses": {near[name]: address for name, address in hosts.addresses.items()},
        "port": PORT,
        "way": "tfo" if way == "tfo" else "tcp",
        "own": _OWN,
        "start": start_page(page),
    }
    rules = [f"MAP {name} {address}" for name, address in {**near, OWN: _OWN}.items()]
    with hosts.running(_RELAY, work) as told_by:
        told_by(_START_LIMIT)
        browser = subprocess.Popen(
            [
                *(program, *_FLAGS, f"--user-data-dir={_PROFILE}"),
                f"--host-resolver-rules={','.join(rules)},MAP * ~NOTFOUND",
                f"http://{OWN}/",
            ],
            preexec_fn=_confining(hosts.entering),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": _PROFILE, "TMPDIR": "/tmp"},
        )
        try:
            told = told_by(_START_LIMIT + patience)
        finally:
            _end(browser)
    if told is None:
        raise TargetError(f"{page.title}: the relay on the browser's side ended early")
    if told["bytes"] < page.size:
        raise TargetError(f"{page.title}: the browser loaded {told['bytes']} of {page.size} bytes")
    return told


def _confining(enter: Callable[[], None]) -> Callable[[], None]:
    """As what enters does; and there is a /tmp in memory that goes with the browser."""

    def confine() -> None:
        enter()
        enter_private_tmp({})

    return confine


def _end(browser: subprocess.Popen[bytes]) -> None:
    """It and what it started, which is its session."""
    until = time.monotonic() + _END_LIMIT
    with contextlib.suppress(ProcessLookupError):
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait(_END_LIMIT)
        while time.monotonic() < until:
            os.killpg(browser.pid, 0)
            time.sleep(_LOOK_EVERY)
