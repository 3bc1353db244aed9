"""The table of outcomes for a capture whose mix is known."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from tshark import needs_tshark, tshark

pytestmark = needs_tshark

BENCH = Path(__file__).resolve().parents[2] / "bench" / "known_mix.py"
CONNECTIONS = 2000


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one pass", "two passes"])
def test_it_is_exact(passes: tuple[str, ...], tmp_path: Path) -> None:
    bench = runpy.run_path(str(BENCH))
    capture = tmp_path / "mix.pcap"
    bench["write_capture"](capture, CONNECTIONS)
    said = tshark(capture, "-q", "-z", "tfo,outcome", *passes)
    assert bench["read_table"](said) == bench["expected"](CONNECTIONS)
