"""Every system call that scripts may make can be made: the tables of them agree."""

from __future__ import annotations

import pytest

from scapy_tfo.pkt.syscalls import libc
from scapy_tfo.pkt.syscalls.table import CALLS

# Calls of scripts that go by another name in the C library, or need none of its functions.
MADE_OTHERWISE = {"cap_set": "capset"}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_c_library_has_each_call(name: str) -> None:
    assert libc.function(MADE_OTHERWISE.get(name, name)) is not None
