"""Each way takes as many round trips as its protocol says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.gain.link_shape import BARE
from scapy_tfo.gain.names import WAY_NAMES
from scapy_tfo.gain.pages.page import Page, Resource
from scapy_tfo.gain.secure.ways import REQUEST, WAYS, Load, Plan, less, measure

TRIPS = {
    "tcp": 2,
    "tfo": 1,
    "kept": 1,
    "tls": 3,
    "tls-tfo": 2,
    "tls-early": 2,
    "tls-early-tfo": 1,
    "quic": 2,
    "quic-early": 1,
}
"""Of one request: RFC 9293, 7413, 8446 sections 2 and 2.3, 9001 section 4.1."""


def loads(ways: list[str], page: Page, rtt: float) -> list[Load]:
    if any(each.startswith("quic") for each in ways):
        pytest.importorskip("aioquic", reason="the extra 'quic' is not installed")
    try:
        return list(measure(Plan(ways=ways, rtts=[rtt], line=BARE), [page]))
    except SetupError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("rtt", [0.02, 0.2])
@pytest.mark.parametrize("way", WAY_NAMES)
def test_a_request_takes_the_round_trips_of_its_way(way: str, rtt: float) -> None:
    (found,) = loads([way], REQUEST, rtt)
    assert found.seconds == pytest.approx(TRIPS[way] * rtt, rel=1e-6)
    assert found.connections == (way != "kept")
    assert found.early == (TRIPS[way] == 1 or way == "tls-early") - (way == "kept")


def test_a_chain_of_hosts_takes_them_for_each() -> None:
    def part(name: str, after: str | None, host: str) -> Resource:
        return Resource(name=name, host=host, type="text/html", size=1000, after=after)

    chain = Page("chain", "a chain", 400, (part("1", None, "a.test"), part("2", "1", "b.test")))
    ways = [each for each in WAY_NAMES if not each.startswith("quic")]
    for each in loads(ways, chain, 0.1):
        assert each.seconds == pytest.approx(2 * TRIPS[each.way] * 0.1, rel=1e-6)


def test_every_way_has_its_name() -> None:
    assert tuple(each.name for each in WAYS) == WAY_NAMES == tuple(TRIPS)


def test_what_fast_open_saves_is_told_beside_the_same_way_without() -> None:
    seconds = {("tcp", "a"): 2.0, ("tfo", "a"): 1.5, ("tls-early-tfo", "a"): 1.0}
    assert less(seconds, "tfo", "a") == 0.25
    assert less(seconds, "tcp", "a") is None
    assert less(seconds, "tls-early-tfo", "a") is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "a.json"
    words = ["--way", "tcp,tfo", "--page", "request", "--rtt", "100ms", "--json", str(figures)]
    assert main(["gain", "ways", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Seconds at 100 ms" in said
    assert "TCP, fast open 0.1" in said
    found = json.loads(figures.read_text())
    assert (found["clock"], found["experiment"]) == ("virtual", "ways")
    assert [each["way"] for each in found["cells"]] == ["tcp", "tfo"]


def test_without_aioquic_it_is_told_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "aioquic.quic", None)
    assert main(["gain", "ways", "--page", "request", "--way", "quic"]) == 2
    assert "pip install 'scapy-tfo[quic]'" in capsys.readouterr().err
