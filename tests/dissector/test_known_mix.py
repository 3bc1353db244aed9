"""The table of outcomes over a capture whose mix is known."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path

import pytest

from scapy_tfo.dissector.files import own_plugin
from scapy_tfo.dissector.tshark import has_tshark

pytestmark = pytest.mark.skipif(
    not has_tshark(), reason="tshark is not installed: apt-get install tshark"
)

BENCH = Path(__file__).resolve().parents[2] / "bench" / "known_mix.py"
CONNECTIONS = 2000


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one pass", "two passes"])
def test_it_is_exact(passes: tuple[str, ...], tmp_path: Path) -> None:
    bench = runpy.run_path(str(BENCH))
    capture = tmp_path / "mix.pcap"
    bench["write_capture"](capture, CONNECTIONS)
    command = ["tshark", "-n", "-q", *passes, "-r", capture, "-X", f"lua_script:{own_plugin()}"]
    done = subprocess.run(
        [*command, "-z", "tfo,outcome"], capture_output=True, text=True, check=True
    )
    assert bench["read_table"](done.stdout) == bench["expected"](CONNECTIONS)
