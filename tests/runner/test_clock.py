"""The event loop on virtual time."""

from __future__ import annotations

import asyncio

import pytest

from scapy_tfo.runner.clock import StalledError, run_virtually


def test_an_hour_passes_at_once_and_in_order() -> None:
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, round(asyncio.get_running_loop().time())))

    async def both() -> None:
        await asyncio.gather(sleeper("late", 3600), sleeper("early", 60))

    run_virtually(both(), start=100)
    assert seen == [("early", 160), ("late", 3700)]


def test_a_timeout_fires_on_virtual_time() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(1000):
            await asyncio.sleep(2000)

    with pytest.raises(TimeoutError):
        run_virtually(impatient())


def test_waiting_for_nothing_is_told() -> None:
    async def stuck() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StalledError):
        run_virtually(stuck())
