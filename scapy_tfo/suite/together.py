"""Several conversations of one case at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from contextvars import ContextVar
from typing import TypeVar

from scapy_tfo.suite.outcome import Ending, Failed

T = TypeVar("T")


AT_ONCE = ContextVar("AT_ONCE", default=8)
"""Conversations of one case under way at a time: 40 cases at once still fit the 500 packets that
a device queues by default, and a listener's backlog. The runner lowers it for repetitions."""


async def together(conversations: Iterable[Awaitable[T]]) -> list[T]:
    """Lead conversations side by side, each to its end; what they returned, in order.

    Of those that ended early the gravest counts: raises what is no ending first, then Failed,
    then the first of any other kind.
    """
    gate = asyncio.Semaphore(AT_ONCE.get())

    async def within(conversation: Awaitable[T]) -> T:
        async with gate:
            return await conversation

    ended = await asyncio.gather(*map(within, conversations), return_exceptions=True)
    early = [each for each in ended if isinstance(each, BaseException)]
    if early:
        raise min(early, key=lambda each: (isinstance(each, Ending), not isinstance(each, Failed)))
    return [each for each in ended if not isinstance(each, BaseException)]
