from __future__ import annotations

import asyncio

import pytest
from plan import CONVERSATIONS
from two_kernels import Evidence, hold

from scapy_tfo.errors import SetupError

STALL = 0.1
"""Seconds for which a packet may be late: later, one that was lost looks like one that was not."""

TRIES = 4


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """All conversations of the plan, again where this machine was too busy meanwhile; the best of
    them in the end. Skips where the host allows no namespaces."""
    held: list[Evidence] = []
    try:
        while len(held) < TRIES and not (held and held[-1].stall < STALL):
            held.append(asyncio.run(hold(CONVERSATIONS, tmp_path_factory.mktemp("kernels"))))
    except SetupError as error:
        pytest.skip(str(error))
    return min(held, key=lambda each: each.stall)
