"""Files in directories that the user may not enter: one line reports the error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.report.output import check_file

NOBODY = 65534


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A directory that this process may not enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can stop being root")
    place = tmp_path / "closed"
    place.mkdir(mode=0o700)
    os.seteuid(NOBODY)
    yield place
    os.seteuid(0)


def test_a_file_to_be_written(closed: Path) -> None:
    with pytest.raises(SetupError, match="no permission"):
        check_file(closed / "figures.json")


def test_a_store_to_be_read(closed: Path) -> None:
    with pytest.raises(SetupError, match=r"cannot open the store .*: Permission denied"):
        Store.open(closed / "campaign.sqlite")
