"""Runs several conversations of one case at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextvars import ContextVar
from typing import Any, TypeVar

from scapy_tfo.suite.outcome import Ending, Failed

T = TypeVar("T")


AT_ONCE = ContextVar("AT_ONCE", default=8)
"""Conversations of one case under way at a time: 40 cases at once still fit the 500 packets that
a device queues by default, and a listener's backlog. The runner lowers it for repetitions."""


async def together(conversations: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Lead conversations side by side, each to its end; what they returned, in order.

    Of those that ended early the gravest counts: raises what is no ending first, then Failed,
    then the first of any other kind.
    """
    gate = asyncio.Semaphore(AT_ONCE.get())

    async def within(conversation: Coroutine[Any, Any, T]) -> T:
        async with gate:
            return await conversation

    every = list(conversations)
    try:
        ended = await asyncio.gather(*map(within, every), return_exceptions=True)
    finally:
        for each in every:
            # One that an interrupt kept from beginning would complain that nobody awaited it.
            each.close()
    early = [each for each in ended if isinstance(each, BaseException)]
    if early:
        raise min(early, key=lambda each: (isinstance(each, Ending), not isinstance(each, Failed)))
    return [each for each in ended if not isinstance(each, BaseException)]


async def at_once(conversations: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await them all; where one raises, the others are ended first."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in conversations:
                group.create_task(each)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def until_one_raises(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await them all. Where one raises, others that are under way are cancelled, and tidy up what
    they hold before that is raised on; a cancellation waits for none."""
    tasks = [asyncio.create_task(each) for each in works]
    try:
        await asyncio.gather(*tasks)
    except Exception:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
