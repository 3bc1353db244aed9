from __future__ import annotations

import asyncio

import pytest
from lab_client import Wire

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import LinuxLab


@pytest.fixture
def converse():
    """Runs a conversation `async def talk(wire)` with a fresh target; skips where none can be."""

    def run(talk, start=LinuxLab.start, **options):
        async def whole():
            try:
                lab = await start(**options)
            except SetupError as error:
                pytest.skip(str(error))
            async with lab:
                return await talk(Wire(lab))

        return asyncio.run(whole())

    return run
