"""Runs of cases against this host's kernel are exported, and then replayed to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.pkt.library import own_directory
from scapy_tfo.pkt.play.outcome import Outcome
from tests.pkt.locally import answers, task

CASES = {
    "ACC-2.one-client-port-to-two-listeners": "bind(4, {sin_port=htons(",
    "ACC-2.two-clients-with-one-port": "@2 > ",
    "ACC-12a.closed-port-resets-a-fast-open": "close(3)",
    "AFT-2.end-of-stream-is-told-once": "ack 18",
    "AFT-3.abort-before-the-ack-is-believable": "SO_LINGER",
    "AFT-7.closed-window-is-probed": ". 0:0(0)",
    "AFT-8.packet-too-big-makes-segments-smaller": "--any_segments",
    "DUP-6.syn-with-an-isn-in-the-window": "with seq 0",
    "LIM-8.a-full-syn-backlog-turns-fast-open-off": "listen(3, ",
    "SRV-4.a-new-key-ends-old-cookies": "TCP_FASTOPEN_KEY",
}
"""What the script of each must have, among others."""


_RECORDINGS = 3


def _recorded(here: Path, cases: Iterable[str]) -> dict[str, str]:
    """A script of each case, as it was run just now over IPv4."""
    chosen = [part for case in cases for part in ("--only", case)]
    if main(["test", "lab:linux", *chosen, "-4", "--out", str(here)]) == 2:
        pytest.skip("the host allows no namespaces")
    made = here / "scripts"
    made.mkdir()
    assert main(["pkt", "export", str(here / "capture.pcapng"), "--output", str(made)]) == 0
    return {case: (made / f"{case}-ipv4.pkt").read_text() for case in cases}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return _recorded(tmp_path_factory.mktemp("run"), CASES)


def test_runs_of_cases_replay_as_they_were(scripts: Mapping[str, str], tmp_path: Path) -> None:
    for again in range(_RECORDINGS):
        told = {
            case: answer.failures
            for case, answer in zip(
                scripts, answers(*(task(text) for text in scripts.values())), strict=True
            )
            if not isinstance(answer, Outcome) or answer.failures
        }
        if not told:
            return
        # On a busy host two packets may pass each other on their way: the capture then has them
        # in an order in which the kernel did not see them.
        scripts = _recorded(tmp_path / str(again), told)
    pytest.fail(f"not in one of {_RECORDINGS} recordings: {told}")


@pytest.mark.parametrize("case", CASES)
def test_a_script_says_how_its_case_was_run(scripts: Mapping[str, str], case: str) -> None:
    assert CASES[case] in scripts[case]


def test_scripts_of_clients_and_of_servers_come_back_as_such(tmp_path: Path) -> None:
    own = own_directory()
    files = [
        own / "client" / "caches-cookie-of-syn-ack.pkt",
        own / "server" / "request-gets-cookie.pkt",
    ]
    here, made = tmp_path / "run", tmp_path / "scripts"
    if main(["pkt", "run", *map(str, files), "--out", str(here)]) == 2:
        pytest.skip("the host allows no namespaces")
    assert main(["pkt", "export", str(here / "capture.pcapng"), "--output", f"{made}/"]) == 0
    client, server = (path.read_text() for path in sorted(made.iterdir()))
    assert "MSG_FASTOPEN" in client
    assert "listen(" not in client
    assert "listen(" in server
    for answer in answers(task(client), task(server)):
        assert isinstance(answer, Outcome)
        assert not answer.failures
