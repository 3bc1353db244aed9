"""Fixtures: a home directory for one test, and tshark."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.dissector.tshark import has_tshark, path_of_tshark


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, for us and for tshark."""
    for name in ("XDG_CONFIG_HOME", "WIRESHARK_CONFIG_DIR", "WIRESHARK_PLUGIN_DIR"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture
def tshark() -> str:
    """Its path. Skips where there is none."""
    if not has_tshark():
        pytest.skip("tshark is not installed: apt-get install tshark")
    path = path_of_tshark()
    assert path is not None
    return path
