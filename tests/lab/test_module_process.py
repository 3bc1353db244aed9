"""The error message if Python cannot be started again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.links.link_process import LinkProcess
from scapy_tfo.lab.process.control import Agent
from scapy_tfo.lab.process.namespace_holder import Holder


@pytest.mark.parametrize(
    "start",
    [
        lambda: LinkProcess("scapy_tfo.lab.links.emulator", []),
        lambda: Holder("scapy_tfo.lab.kernel.agent", {}, descriptors=0, name="it"),
        lambda: asyncio.run(Agent.start({})),
    ],
)
def test_an_interpreter_that_is_not_there(
    start: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(SetupError, match="cannot start /no/such/python: No such file"):
        start()
