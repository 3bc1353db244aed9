from __future__ import annotations

import asyncio

import pytest
from plan import CONVERSATIONS
from two_kernels import Evidence, hold

from scapy_tfo.errors import SetupError


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """All conversations of the plan, held once; skips where the host allows no namespaces."""
    try:
        return asyncio.run(hold(CONVERSATIONS, tmp_path_factory.mktemp("kernels")))
    except SetupError as error:
        pytest.skip(str(error))
