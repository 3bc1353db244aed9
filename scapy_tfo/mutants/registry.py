"""The registry of mutants: a mutant is a class that overrides a few lines of the reference."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from scapy_tfo.errors import SetupError
from scapy_tfo.reference.pending import ClientPending, Pending
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack

Part = TypeVar("Part", bound=type[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A stack that is wrong in one way.

    name: as in `sim:NAME` and `lab:NAME`. breaks: the requirement that it violates, an id of
    specs/. description: what is wrong, in one line. bug: where it shipped, or "". stack,
    settings: how to make it. equivalent: why no case can tell it from the reference, or "".
    """

    name: str
    breaks: str
    description: str
    stack: type[Stack]
    settings: Settings
    bug: str = ""
    equivalent: str = ""


REFERENCE = Mutant(
    name="reference",
    breaks="",
    description="the reference implementation",
    stack=Stack,
    settings=Settings(),
)
"""Wrong in no way: what the mutants are told from."""

_mutants: dict[str, Mutant] = {REFERENCE.name: REFERENCE}


def mutant(
    breaks: str, *, bug: str = "", settings: Settings | None = None, equivalent: str = ""
) -> Callable[[Part], Part]:
    """Register a subclass of a part of the reference as the mutant of its name.

    The class may derive from Stack, Listener, PassiveConnection, Pending, ClientPending,
    SendSide or ReceiveSide; its docstring says what is wrong. Raises ValueError for a name that
    is taken or a docstring that is missing, TypeError for another base class.
    """

    def register(part: Part) -> Part:
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", part.__name__).lower()
        description = " ".join((part.__doc__ or "").split())
        if name in _mutants or not description:
            raise ValueError(f"mutant {name}: the name is taken, or a docstring is missing")
        _mutants[name] = Mutant(
            name=name,
            breaks=breaks,
            description=description,
            stack=_stack_with(part),
            settings=settings or Settings(),
            bug=bug,
            equivalent=equivalent,
        )
        return part

    return register


def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant of scapy_tfo/mutants, by name."""
    package = importlib.import_module("scapy_tfo.mutants")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"scapy_tfo.mutants.{module.name}")
    return tuple(_mutants[name] for name in sorted(_mutants) if name != REFERENCE.name)


def named(name: str) -> Mutant:
    """The mutant of that name, or `reference`. Raises SetupError where there is none."""
    all_mutants()
    if name not in _mutants:
        raise SetupError(
            f"no such stack: '{name}'; there are reference and the mutants that "
            "'scapy-tfo mutants' lists"
        )
    return _mutants[name]


def _stack_with(part: type[Any]) -> type[Stack]:
    """The reference stack with one part replaced."""
    if issubclass(part, Stack):
        return part
    if issubclass(part, Listener):
        return _derived(Stack, listener_class=part)
    if issubclass(part, PassiveConnection):
        return _derived(Stack, connection_class=part)
    if issubclass(part, Pending):
        return _derived(
            Stack, pending_class=part, listener_class=_derived(Listener, pending_class=part)
        )
    if issubclass(part, ClientPending):
        return _derived(Stack, client_pending_class=part)
    if issubclass(part, SendSide):
        return _stack_with(_derived(PassiveConnection, send_side_class=part))
    if issubclass(part, ReceiveSide):
        return _stack_with(_derived(PassiveConnection, receive_side_class=part))
    raise TypeError(f"{part.__name__} replaces no part of the reference")


def _derived(base: type[Any], **attributes: Any) -> type[Any]:
    return type(f"Mutant{base.__name__}", (base,), attributes)
