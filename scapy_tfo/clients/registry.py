"""The registry of cases for clients: finds every case in scapy_tfo/client_cases."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from scapy_tfo.suite.registry import Case, in_order

if TYPE_CHECKING:
    from scapy_tfo.clients.server import Server

Conversation = Callable[["Server"], Awaitable[None]]

_cases: dict[str, Case] = {}


def case(
    *requirements: str, slow: bool = False, exclusive: bool = False
) -> Callable[[Conversation], Conversation]:
    """Register a conversation as a case for the requirements, the main one first.

    slow: waits for timers of more than a few seconds. exclusive: runs alone, since it changes what
    the client's host does elsewhere. Raises ValueError for a missing docstring, or an id that is
    taken.
    """

    def register(run: Conversation) -> Conversation:
        name = getattr(run, "__name__", "").replace("_", "-")
        title = (inspect.getdoc(run) or "").partition("\n\n")[0].replace("\n", " ")
        identity = f"{requirements[0]}.{name}"
        if not title or identity in _cases:
            raise ValueError(f"{identity}: no docstring, or the id is taken")
        _cases[identity] = Case(
            id=identity,
            title=title,
            requirements=requirements,
            slow=slow,
            exclusive=exclusive,
            run=run,
        )
        return run

    return register


def all_cases() -> tuple[Case, ...]:
    """Every case of scapy_tfo/client_cases, ordered by group and number of its requirement."""
    package = importlib.import_module("scapy_tfo.client_cases")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"scapy_tfo.client_cases.{module.name}")
    return in_order(_cases.values())
