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
