"""Reduces the context of a failure to the factors that matter."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.suite.context.context import Context


def reduce(context: Context, fails: Callable[[Context], bool]) -> Context:
    """The context, with usual values for each factor without which it still fails.

    One factor is left out at a time, until none can be: what is left, `fails` has seen fail, and
    seen pass without any one of its factors.
    """
    while True:
        for name in reversed(context.names):
            less = context.without((name,))
            if fails(less):
                context = less
                break
        else:
            return context
