"""The ends of the reference, the control without fast open, and servers that are not ours."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain import target
from scapy_tfo.gain.latency import Cell, Plan, measure

TRIES = 4


def one_cell(client: str, server: str) -> Cell:
    plan = Plan(clients=[client], servers=[server], rtts=[0.1], sizes=[1000], times=4)
    try:
        (cell,) = measure(plan)
    except SetupError as error:
        pytest.skip(str(error))
    return cell


def saved(client: str, server: str, wanted: float) -> Cell:
    """The cell, once as many round trips as wanted are saved and the control saves none: another
    process that takes the core makes some packets late."""
    for _ in range(TRIES):
        cell = one_cell(client, server)
        assert cell.trips is not None
        assert cell.control is not None
        if abs(cell.trips.value - wanted) < 0.1 and abs(cell.control.value) < 0.1:
            return cell
    pytest.fail(f"of {TRIES} measurements none shows {wanted} round trips saved: {cell}")


@pytest.mark.parametrize(
    ("client", "server"),
    [("reference", "reference"), ("reference", "nginx"), ("kernel", "reference")],
)
def test_the_reference_saves_a_round_trip(client: str, server: str) -> None:
    assert saved(client, server, 1.0).early == 1.0


@pytest.mark.parametrize("client", ["kernel", "reference"])
def test_nothing_is_saved_where_the_server_has_it_off(client: str) -> None:
    assert saved(client, "nginx-off", 0.0).early == 0.0


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/there?x=1" else 404)
        self.end_headers()
        self.wfile.write(self.headers["Host"].encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """A server on loopback without fast open; its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as there:
        thread = threading.Thread(target=there.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{there.server_port}"
        there.shutdown()
        thread.join()


def test_a_target_that_gives_no_cookie(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    given = ["--target", f"{server}/there?x=1", "--times", "3", "--json", str(path)]
    given.append("--accept-noise")
    if main(["gain", "latency", *given]):
        pytest.skip("fast open is off for clients here")
    said = " ".join(capsys.readouterr().out.split())
    assert "Answers: 200" in said
    assert "3 of 3 fast opens were not accepted: there was no cookie" in said
    figures = json.loads(path.read_text())
    assert figures["cell"]["early"] == 0
    assert 0 < figures["cell"]["rtt"] < 0.1


def test_a_target_that_is_not_there(server: str) -> None:
    there = target.find(f"{server}/nothing")
    try:
        assert list(target.measure(there, 1).statuses) == ["404"]
        with pytest.raises(TargetError, match="refused"):
            target.measure(target.find("http://127.0.0.1:1/"), 1)
    except SetupError as error:
        pytest.skip(str(error))


def test_the_name_of_a_target() -> None:
    assert target.find("http://127.0.0.1/a?b").path == "/a?b"
    assert target.find("http://127.0.0.1:8080").name == "127.0.0.1:8080"
    assert target.find("http://[::1]").name == "[::1]"


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "127.0.0.1", "http://", "http://a:b/"])
def test_what_is_no_target(url: str) -> None:
    with pytest.raises(SetupError, match="write the target as"):
        target.find(url)


def test_a_target_has_a_link_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gain", "latency", "--target", "http://127.0.0.1/", "--rtt", "20ms"]) == 2
    assert "--target" in capsys.readouterr().err
