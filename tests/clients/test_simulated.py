"""The cases for clients against the reference client, in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from scapy_tfo import spec
from scapy_tfo.cli import main
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.server import Reception, Server
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.errors import SetupError
from scapy_tfo.suite.registry import select
from scapy_tfo.suite.result import Verdict

DOES_WITHOUT = {
    "CLI-2.a-cookie-of-the-experimental-form-comes-back-in-it",
    "CLI-13.the-syn-timer-follows-the-round-trip-time",
}
"""What the reference client leaves out, as it may."""


def test_the_reference_client_is_never_wrong() -> None:
    run = simulate("sim:reference", all_cases(), spec.load(), Options(slow=True))
    others = {each.case: each.verdict for each in run.results if each.verdict is not Verdict.PASS}
    assert set(others) <= DOES_WITHOUT
    assert set(others.values()) == {Verdict.UNSUPPORTED}
    assert len(run.results) == 2 * len(all_cases())


def test_the_same_seed_gives_the_same_packets() -> None:
    cases = select(all_cases(), ("CLI-2", "CLI-5", "CLI-24"))
    first, second = (
        simulate("sim:reference", cases, spec.load(), Options(seed=7)) for _ in range(2)
    )
    assert [each.data for each in first.packets] == [each.data for each in second.packets]


def test_an_unknown_client_is_refused() -> None:
    with pytest.raises(SetupError, match="no such client: 'nobody'"):
        simulate("sim:nobody", all_cases(), spec.load())


def test_a_client_behind_a_middlebox(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["client", "sim:reference", "--only", "CLI-2", "-4", "--quiet", "--out", str(tmp_path)]
    assert main([*words, "--behind", "shares-address+duplicates-syn"]) == 0
    assert main([*words, "--behind", "strips-option-from-syn-ack"]) == 1
    assert "the cookie that the server granted is not used" in capsys.readouterr().out


def test_a_middlebox_is_for_clients_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["client", "--behind", "none", "--", "curl", "http://{host}:{port}/"]) == 2
    assert "--behind works only with sim:" in capsys.readouterr().err


class _Board:
    shares = True


@pytest.mark.parametrize("number", [1, 2, 7, 27])
def test_two_families_have_all_variants_between_them(number: int) -> None:
    found = []
    for family in (4, 6):
        server = Server.__new__(Server)
        server.board, server.family = cast("Reception", _Board()), family
        found += server.some(range(number))
    assert sorted(found) == list(range(number))


def test_the_name_of_a_run_is_kept(tmp_path: Path) -> None:
    told = tmp_path / "r.json"
    words = ["client", "sim:reference", "--only", "CLI-2", "--quiet", "--label", "ours"]
    assert main([*words, "--out", str(tmp_path / "out"), "--json", str(told)]) == 0
    assert json.loads(told.read_text("utf-8"))["label"] == "ours"
