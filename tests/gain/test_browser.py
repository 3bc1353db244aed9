"""The relay in front of a browser, and Chromium itself if it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")
pytest.importorskip("matplotlib", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.gain.pages.browser import browse, find_browser
from scapy_tfo.gain.pages.content import contents
from scapy_tfo.gain.pages.hosts import PORT, PageHosts
from scapy_tfo.gain.pages.page import Page, Resource

RELAY = Path(__file__).parents[2] / "scapy_tfo" / "gain" / "pages" / "relay.py"
NEAR, OWN = "127.1.0.1", "127.2.0.1"
CLIENT = f"""
import http.client
def ask(host, method, path, body=None):
    one = http.client.HTTPConnection(host, {PORT}, timeout=10)
    one.request(method, path, body, {{"Host": "first.test"}})
    print(one.getresponse().read().decode()[:20])
ask("{OWN}", "GET", "/")
ask("{NEAR}", "GET", "/first")
ask("{NEAR}", "GET", "/first")
ask("{OWN}", "POST", "/", '{{"seconds": 1.5}}')
"""


def part(name: str, kind: str, after: str | None = None) -> Resource:
    return Resource(name=name, host=f"{name}.test", type=kind, size=2000, after=after)


PAGE = Page(
    "small",
    "Small",
    400,
    (
        part("first", "text/html"),
        part("style", "text/css", "first"),
        part("image", "image/gif", "style"),
        part("script", "text/javascript", "first"),
        part("frame", "text/html", "script"),
        part("last", "image/gif", "frame"),
    ),
)


@pytest.fixture
def hosts() -> Iterator[PageHosts]:
    try:
        found = PageHosts(PAGE, contents(PAGE))
    except SetupError as error:
        pytest.skip(str(error))
    with found:
        yield found


@pytest.fixture
def chromium() -> str:
    try:
        return find_browser()
    except SetupError as error:
        pytest.skip(str(error))


def warm(hosts: PageHosts) -> None:
    """Let the client have each host's cookie."""
    resources = [{**asdict(each), "after": None} for each in PAGE.resources]
    settings = {"port": PORT, "request": 400, "persistent": True, "parallel": 6, "pause": 0}
    work = {**settings, "resources": resources, "ways": ["tfo"], "times": 0, "seed": 0}
    assert list(hosts.load(work, 20.0)) == []


@pytest.mark.parametrize(("way", "early"), [("tcp", 0), ("tfo", 2)])
def test_the_relay_opens_connections_with_fast_open_or_without(
    hosts: PageHosts, way: str, early: int
) -> None:
    warm(hosts)
    work = {
        "addresses": {NEAR: hosts.addresses["first.test"]},
        "port": PORT,
        "way": way,
        "own": OWN,
        "start": "begin here",
    }
    with hosts.running(RELAY, work) as line:
        assert line(20.0) == {}
        client = subprocess.run(
            [sys.executable, "-c", CLIENT], preexec_fn=hosts.entering, capture_output=True
        )
        told = line(20.0)
    assert client.stdout.split(b"\n")[:2] == [b"begin here", b"<!doctype html><html"]
    assert told is not None
    assert (told["seconds"], told["connections"], told["early"]) == (1.5, 2, early)
    assert told["bytes"] > 2 * 2000


def test_chromium_loads_all_that_the_page_names(hosts: PageHosts, chromium: str) -> None:
    assert chromium
    warm(hosts)
    (told,) = browse(hosts, PAGE, [["tfo"]], 0.0, 30.0)
    assert told["way"] == "tfo"
    assert told["bytes"] >= PAGE.size
    assert told["seconds"] > 0
    assert told["early"] == told["connections"] >= len(PAGE.hosts)


def test_without_chromium_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert main(["gain", "pages", "--browser"]) == 2
    assert "apt-get install chromium" in capsys.readouterr().err
