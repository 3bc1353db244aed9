"""Filters on sockets, with few capabilities."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

_ASKS = """
import socket
from scapy_tfo.errors import SetupError
from scapy_tfo.wire import bpf
try:
    bpf.attach(socket.socket(), bpf.drop_all())
except SetupError as error:
    print(error)
else:
    print("attached")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="takes capabilities away: as root")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_a_kernel_that_wants_more_is_told_of() -> None:
    """Some kernels attach a filter for everyone, some only for CAP_NET_ADMIN."""
    bare = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-all"]
    run = subprocess.run(
        [*bare, sys.executable, "-c", _ASKS], capture_output=True, text=True, check=True
    )
    if run.stdout.strip() == "attached":
        pytest.skip("this kernel attaches filters without CAP_NET_ADMIN")
    assert "--cap-add NET_ADMIN" in run.stdout
