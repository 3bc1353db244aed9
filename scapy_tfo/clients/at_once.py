"""Conversations that go on side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def at_once(conversations: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await them all; where one raises, the others are ended first."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in conversations:
                group.create_task(each)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
