from __future__ import annotations

import json
from pathlib import Path

import pytest

from scapy_tfo.cli import main


def test_a_transparent_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "sim:none", "-4"]) == 0
    assert "sim:none, IPv4: transparent" in capsys.readouterr().out


def test_a_path_that_breaks_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "path.json"
    assert main(["path", "sim:drops-syn-with-data", "-6", "--json", str(written)]) == 1
    out = capsys.readouterr().out
    assert "IPv6: drops" in out
    assert "cookie and some data: the client recovers, +1000 ms" in out
    said = json.loads(written.read_text())["results"]["IPv6"]
    (found,) = said["findings"]
    assert (found["name"], found["where"]) == ("drops-syn-with-data", "towards the server")
    costs = {each["begins_with"]: each for each in said["connections"]}
    full = costs["cookie and as much data as fits"]
    assert full["seconds"] - full["plain_seconds"] >= 1.0
    assert full["whole"] == full["of"]


def test_what_no_client_can_help_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "sim:acknowledges-lost-data", "-4"]) == 1
    assert "no client can help it: data that was acknowledged is gone" in capsys.readouterr().out


def test_boxes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "--boxes"]) == 0
    assert "strips-option-from-syn-ack  " in capsys.readouterr().out


def test_an_unknown_box_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "sim:firewall"]) == 2
    assert "no middlebox 'firewall'" in capsys.readouterr().err


def test_a_path_that_changes_addresses_tells_nothing_of_keys(tmp_path: Path) -> None:
    written = tmp_path / "path.json"
    assert main(["path", "sim:changes-address", "-4", "--json", str(written)]) == 1
    assert json.loads(written.read_text())["results"]["IPv4"]["keys"] is None


def test_what_cannot_be_written_is_told_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["path", "sim:none", "--json", str(tmp_path / "no" / "path.json")]) == 2
    said = capsys.readouterr()
    assert (said.out, "there is no directory" in said.err) == ("", True)


@pytest.mark.parametrize("words", [["--json", "x.json"], ["--connections", "9"], ["-4"]])
def test_serve_takes_a_port_alone(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "serve", *words]) == 2
    assert "takes only --port" in capsys.readouterr().err
