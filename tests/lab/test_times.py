"""The time that a process has computed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.process.times import processor_seconds


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs CONFIG_SCHED_INFO")
def test_it_is_what_the_kernel_counts() -> None:
    before = processor_seconds(os.getpid())
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert processor_seconds(os.getpid()) - before >= 0.04


def test_a_process_that_has_ended_is_told() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(SetupError, match=f"process {child} has ended"):
        processor_seconds(child)
