"""Transactions in a closed loop and at constant rates, with fast open and without."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")
pytest.importorskip("matplotlib", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain import closed_loops as loops_module
from scapy_tfo.gain import load, rate
from scapy_tfo.gain.chart import draw_rates
from scapy_tfo.gain.closed_loops import Loop, PinnedServer
from scapy_tfo.gain.ends import closed_loop
from scapy_tfo.gain.ends.namespaces import Nginx
from scapy_tfo.gain.link_shape import Line
from scapy_tfo.gain.measuring.estimate import Estimate

TRIES = 4


@pytest.fixture(scope="module")
def server() -> Iterator[PinnedServer]:
    try:
        made = PinnedServer(100)
    except SetupError as error:
        pytest.skip(str(error))
    with made:
        yield made


@pytest.mark.usefixtures("server")
def test_half_of_two_round_trips_is_saved() -> None:
    """A transaction takes two of 20 ms, or one; all else takes little beside that, unless another
    process holds the core for a moment."""
    for _ in range(TRIES):
        (point,) = rate.measure(rate.Plan(rtts=[0.02], rounds=2, seconds=0.3))
        assert point.link in ("own", "netem")
        assert point.tcp < 2 / 0.04
        assert point.tfo < 2 / 0.02
        assert point.cpu is not None
        undisturbed = point.limit == "waiting" and 0.75 < point.control.value < 1.33
        if undisturbed and point.predicted > 1.5 and 1.5 < point.ratio.value < 2.5:
            return
    pytest.fail(f"of {TRIES} measurements none shows half the time saved: {point}")


def test_the_veth_pair_passes_the_emulator_by(server: PinnedServer) -> None:
    if not server.bare:
        pytest.skip(server.why)
    server.use_link(0.1)
    assert (server.loop("tcp", 0.01, 1).rtt or 0) >= 0.099
    server.use_bare()
    bare = server.loop("tcp", 0.05, 1)
    assert bare.rtt is not None
    assert bare.rtt < 0.1
    assert bare.server_cpu > 0


def test_a_link_that_is_asked_for_is_the_one_that_is_used(server: PinnedServer) -> None:
    """Without delay, too, where the veth pair would do."""
    rate.choose_link(server, 0.0, Line(link="own"))
    assert server.link != "veth"
    rate.choose_link(server, 0.0, Line())
    assert (server.link == "veth") == server.bare


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("words", [["rate", "--rtt", "0"], ["load", "--rate", "50"]])
def test_the_command_with_our_own_link(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            ["gain", *words, "--link", "own", "--rounds", "1", "--seconds", "0.1", "--accept-noise"]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "Link: our own emulator" in out
    assert "veth" not in out


def test_what_the_kernel_receives_on_the_veth_pair_it_does_in_the_threads_that_are_counted(
    server: PinnedServer,
) -> None:
    if not server.whole:
        pytest.skip("the kernel's threads cannot be seen")
    server.use_bare()
    before = server.receiving
    loop = server.loop("tcp", 0.1, 1)
    assert all(now > then for now, then in zip(server.receiving, before, strict=True))
    assert loop.server_cpu > 0


def test_a_constant_rate_is_not_exceeded(server: PinnedServer) -> None:
    server.use_bare()
    for way in ("tcp", "tfo"):
        loop = server.loop(way, 0.4, 2, 100)
        assert 2 <= loop.count <= 42
        assert loop.rate <= 110


def test_a_moment_has_one_transaction(server: PinnedServer) -> None:
    server.use_bare()
    assert server.loop("tcp", 1e-6, 1).count == 1


def test_clients_that_share_a_core_do_not_have_it_twice(server: PinnedServer) -> None:
    """They all start when the last is ready: one after another, each would have had it for itself,
    and what they used, over the time of one, would have been more than a core."""
    server.use_bare()
    four = server.loop("tcp", 0.2, 4)
    assert four.count >= 4
    assert four.seconds >= 0.2
    assert four.client_busy <= 1.1
    if server.core is not None:
        assert four.server_busy <= 1.1


def test_clients_at_a_constant_rate_take_turns(server: PinnedServer) -> None:
    """Four of them, 40 a second together: 25 ms from each to the next."""
    server.use_bare()
    loop = server.loop("tcp", 0.2, 4, 40)
    assert 4 <= loop.count <= 8
    assert loop.rate <= 40


def test_an_answer_that_is_not_the_file_is_no_transaction(
    server: PinnedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.use_bare()
    monkeypatch.setattr(server, "_path", "/bytes/none")
    with pytest.raises(TargetError, match=r"failed: the answer is 'HTTP/1.1 404 .* not 200 and"):
        server.loop("tcp", 0.01, 2)


GOOD = b"HTTP/1.1 200 OK\r\n\r\nword"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([b""], "the answer is '' and 0 bytes, not 200 and 4"),
        ([GOOD[:-1]], "the answer is 'HTTP/1.1 200 OK' and 3 bytes, not 200 and 4"),
        ([GOOD, GOOD, b""], "an answer has 0 bytes, where the first had 23"),
    ],
)
def test_every_answer_is_looked_at(answers: list[bytes], said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = ["127.0.0.1", str(listener.getsockname()[1]), "/", "4", "tcp", "9", "16"]
        client = subprocess.Popen(
            [sys.executable, closed_loop.__file__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert client.stdin is not None
        client.stdin.write(f"{time.monotonic()}\n")
        client.stdin.flush()
        listener.settimeout(20)
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)
        _, errors = client.communicate(timeout=20)
    assert client.returncode
    assert errors.strip() == said


def test_fast_opens_are_seen_to_happen(server: PinnedServer) -> None:
    server.use_bare()
    server.loop("tfo", 0.01, 1)
    assert server.loop("tfo", 0.05, 2).early == 1
    assert server.loop("tcp", 0.05, 1).early is None


def test_fast_opens_that_a_server_does_not_take_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loops_module, "Nginx", partial(Nginx, fast_open=False))
    try:
        (level,) = load.measure(load.Plan(rates=[50], rounds=1, seconds=0.1, clients=1))
        words = ["--rate", "50", "--rounds", "1", "--seconds", "0.1", "--accept-noise"]
        assert main(["gain", "load", *words]) == 0
    except SetupError as error:
        pytest.skip(str(error))
    assert level.early == 0
    assert "took the data of 0.0% of the SYNs" in " ".join(capsys.readouterr().out.split())


def test_a_level(server: PinnedServer) -> None:
    (level,) = load.measure(load.Plan(rates=[100], rounds=1, seconds=0.2, clients=1))
    assert level.rate == 100
    assert 0 < level.tcp.value < 1
    assert 0 < level.tfo.value < 1
    assert level.whole == server.whole


def loops(client: float, server: float) -> list[Loop]:
    one = Loop(count=1, seconds=1.0, client_busy=client, server_cpu=server, rtt=0.0, early=None)
    return [one] * 3


def test_who_limits_the_rate() -> None:
    assert rate.limit(loops(0.95, 0.5)) == "client"
    assert rate.limit(loops(0.5, 0.95)) == "server"
    assert rate.limit(loops(0.5, 0.5)) == "waiting"


@pytest.mark.usefixtures("server")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg")]
    assert (
        main(
            [
                "gain",
                "rate",
                "--rtt",
                "0.1ms",
                "--rounds",
                "1",
                "--seconds",
                "0.1",
                "--accept-noise",
                *files,
            ]
        )
        == 0
    )
    assert "1.234" in capsys.readouterr().out
    (point,) = json.loads((tmp_path / "a.json").read_text())["cells"]
    assert point["rtt"] == 0.0001
    assert "the paper" in (tmp_path / "a.svg").read_text()


@pytest.mark.usefixtures("server")
def test_the_command_for_constant_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg")]
    assert (
        main(
            [
                "gain",
                "load",
                "--rate",
                "50",
                "--rounds",
                "1",
                "--seconds",
                "0.1",
                "--accept-noise",
                *files,
            ]
        )
        == 0
    )
    assert "control" in capsys.readouterr().out
    (level,) = json.loads((tmp_path / "a.json").read_text())["cells"]
    assert level["rate"] == 50
    assert "requests a second" in (tmp_path / "a.svg").read_text()


@pytest.mark.usefixtures("server")
def test_a_rate_that_is_not_held_is_told_with_those_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "a.json"
    words = ["--rate", "10,10000000", "--rounds", "1", "--seconds", "0.2", "--json", str(figures)]
    words.append("--accept-noise")
    assert main(["gain", "load", *words]) == 0
    out = capsys.readouterr().out
    held, level = json.loads(figures.read_text())["cells"]
    tcp, tfo = level["tcp_rate"], level["tfo_rate"]
    assert f"10,000,000/s was not reached: {tcp:,.0f}/s with TCP, {tfo:,.0f}/s with" in out
    # On a busy machine not even ten.
    assert ("10/s was not" in out) == bool(held["limit"])


def test_a_transaction_quicker_than_the_round_trip_predicts_nothing(tmp_path: Path) -> None:
    """On an idle machine handshakes may take longer than what follows them."""
    quick = rate.Point(
        rtt=0.0,
        measured=0.001,
        link="own",
        tcp=5000.0,
        tfo=6000.0,
        ratio=Estimate(1.2, 1.1, 1.3),
        predicted=None,
        control=Estimate(1.0, 0.9, 1.1),
        cpu=None,
        client_busy=0.5,
        server_busy=0.5,
        early=1.0,
        limit="waiting",
        samples={},
    )
    draw_rates([quick], tmp_path / "a.svg")
    assert "one round trip less" in (tmp_path / "a.svg").read_text()
