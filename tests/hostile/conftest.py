"""The laws that hold for every command, whatever it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from tests.hostile.outside import MARKER, acts, listing

STATUSES = {0, 1, 2, 3}
"""Documented, of runs that are not interrupted; 70 would be a fault of ours."""


@pytest.fixture
def lawful(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., int]]:
    """Runs a command in a directory of its own and holds it to the laws; the exit status.

    What it may write is below `out`.
    """
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> int:
        before = listing(tmp_path, but=out)
        try:
            status = main(words)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        said = "".join(capfd.readouterr())
        assert status in STATUSES, said[-2000:]
        assert not acts(said)
        assert "Traceback" not in said
        assert listing(tmp_path, but=out) == before
        assert not Path(MARKER).exists()
        assert not (out / MARKER).exists()
        return status

    yield run
    assert not Path("/tmp/loot").exists()
