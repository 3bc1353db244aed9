"""The registry of mutants: a mutant is a class that overrides a few lines of the reference."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.parts.pending import ClientPending, Pending
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
    specs/. also: further requirements whose statements it violates as directly, at most four,
    in the order of the catalogue; filled for servers. description: what is wrong, in one line.
    bug: where it shipped, or "". stack, settings: how to make it. equivalent: why no case can
    tell it from the reference, or "". context: where cases that pass it as they are tell it from
    the reference, as `scapy-tfo test --context` reads it; "" for any. shown_by: of those that break
    a rule of plain TCP, `breaks` being its name in the oracle: the case or stimulus that shows it.
    """

    name: str
    breaks: str
    description: str
    stack: type[Stack]
    settings: Settings
    bug: str = ""
    equivalent: str = ""
    also: tuple[str, ...] = ()
    context: str = ""
    shown_by: str = ""


REFERENCE = Mutant(
    name="reference",
    breaks="",
    description="the reference implementation",
    stack=Stack,
    settings=Settings(),
)
"""Wrong in no way: what the mutants are told from."""

_mutants: dict[str, Mutant] = {REFERENCE.name: REFERENCE}
_in_context: dict[str, Mutant] = {REFERENCE.name: REFERENCE}
_clients: dict[str, Mutant] = {REFERENCE.name: REFERENCE}
_tcp: dict[str, Mutant] = {REFERENCE.name: REFERENCE}
_by_model: dict[str, Mutant] = {REFERENCE.name: REFERENCE}


def mutant(
    breaks: str,
    *,
    also: tuple[str, ...] = (),
    bug: str = "",
    settings: Settings | None = None,
    equivalent: str = "",
) -> Callable[[Part], Part]:
    """Register a subclass of a part of the reference as the mutant of its name.

    The class may derive from Stack, Listener, PassiveConnection, Pending, ClientPending,
    SendSide or ReceiveSide; its docstring says what is wrong. `also` lists a requirement only if
    the mutant violates its statement on the wire, in a situation that the statement describes.
    It is judged from the mutant and the statements alone, never from what cases report: only
    then can the reports be judged by it. Raises ValueError for a name that is taken or a
    docstring that is missing, TypeError for another base class.
    """

    return _registering(_mutants, _server_with, breaks, also, bug, settings, equivalent)


def context_mutant(breaks: str, context: str) -> Callable[[Part], Part]:
    """The same for a server that only `scapy-tfo test --vary` catches. context: that shows it."""
    return _registering(_in_context, _server_with, breaks, (), "", None, "", context)


def client_mutant(
    breaks: str, *, bug: str = "", settings: Settings | None = None, equivalent: str = ""
) -> Callable[[Part], Part]:
    """The same for a client: the class may derive from Stack, ActiveConnection, Cache, SendSide
    or ReceiveSide."""
    return _registering(_clients, _client_with, breaks, (), bug, settings, equivalent)


def tcp_mutant(
    rule: str, shown_by: str, *, settings: Settings | None = None
) -> Callable[[Part], Part]:
    """The same for a server that breaks a rule of plain TCP, which the oracle holds against every
    conversation. rule: its name there. shown_by: the id of a case or stimulus that shows it."""
    return _registering(_tcp, _server_with, rule, (), "", settings, "", shown_by=shown_by)


def rule_mutant(rule: str, *, settings: Settings | None = None) -> Callable[[Part], Part]:
    """The same for a rule that no rule of traffic judges, but the fuzzer's model or a case. rule:
    its id in specs/tcp-rules.toml, which names the mutant."""
    return _registering(_by_model, _server_with, rule, (), "", settings, "")


def _registering(
    mutants: dict[str, Mutant],
    make: Callable[[type[Any]], type[Stack]],
    breaks: str,
    also: tuple[str, ...],
    bug: str,
    settings: Settings | None,
    equivalent: str,
    context: str = "",
    shown_by: str = "",
) -> Callable[[Part], Part]:
    def register(part: Part) -> Part:
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", part.__name__).lower()
        description = " ".join((part.__doc__ or "").split())
        if name in mutants or not description:
            raise ValueError(f"mutant {name}: the name is taken, or a docstring is missing")
        mutants[name] = Mutant(
            name=name,
            breaks=breaks,
            also=also,
            description=description,
            stack=make(part),
            settings=settings or Settings(),
            bug=bug,
            equivalent=equivalent,
            context=context,
            shown_by=shown_by,
        )
        return part

    return register


def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant of scapy_tfo/mutants, by name."""
    return _all_of("scapy_tfo.mutants", _mutants)


def all_context_mutants() -> tuple[Mutant, ...]:
    """Every server that only shows its fault in a context, by name. Those of `all_mutants` show
    theirs to a case as it is."""
    return _all_of("scapy_tfo.mutants", _in_context)


def named(name: str) -> Mutant:
    """The mutant of that name, or `reference`. Raises SetupError where there is none."""
    all_mutants()
    all_tcp_mutants()
    all_rule_mutants()
    known = _by_model | _tcp | _in_context | _mutants
    if name not in known:
        raise SetupError(
            f"no such stack: '{name}'; there are reference and the mutants that "
            "'scapy-tfo mutants' lists" + did_you_mean(name, known)
        )
    return known[name]


def all_client_mutants() -> tuple[Mutant, ...]:
    """Every mutant of scapy_tfo/client_mutants, by name."""
    return _all_of("scapy_tfo.client_mutants", _clients)


def client_named(name: str) -> Mutant:
    """The client mutant of that name, or `reference`. Raises SetupError where there is none."""
    all_client_mutants()
    if name not in _clients:
        raise SetupError(
            f"no such client: '{name}'; there are reference and the mutants that "
            "'scapy-tfo client --mutants' shows" + did_you_mean(name, _clients)
        )
    return _clients[name]


def all_tcp_mutants() -> tuple[Mutant, ...]:
    """Every mutant of scapy_tfo/tcp_mutants, by name."""
    return _all_of("scapy_tfo.tcp_mutants", _tcp)


def all_rule_mutants() -> tuple[Mutant, ...]:
    """Every mutant of scapy_tfo/tcp_mutants/by_model, by name."""
    return _all_of("scapy_tfo.tcp_mutants.by_model", _by_model)


def _all_of(package: str, mutants: dict[str, Mutant]) -> tuple[Mutant, ...]:
    """Those that the modules of a package register, by name."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    return tuple(mutants[name] for name in sorted(mutants) if name != REFERENCE.name)


def _server_with(part: type[Any]) -> type[Stack]:
    """The reference stack with one part of the server's replaced."""
    if issubclass(part, Stack):
        return part
    if issubclass(part, Listener):
        return _derived(Stack, listener_class=part)
    if issubclass(part, Pending):
        return _derived(
            Stack, pending_class=part, listener_class=_derived(Listener, pending_class=part)
        )
    if issubclass(part, ClientPending):
        return _derived(Stack, client_pending_class=part)
    return _derived(Stack, connection_class=_connection_with(part, PassiveConnection))


def _client_with(part: type[Any]) -> type[Stack]:
    """The reference stack with one part of the client's replaced."""
    if issubclass(part, Stack):
        return part
    if issubclass(part, Cache):
        return _derived(Stack, cache_class=part)
    return _derived(Stack, active_class=_connection_with(part, ActiveConnection))


def _connection_with(part: type[Any], side: type[Connection]) -> type[Any]:
    if issubclass(part, side):
        return part
    if issubclass(part, SendSide):
        return _derived(side, send_side_class=part)
    if issubclass(part, ReceiveSide):
        return _derived(side, receive_side_class=part)
    raise TypeError(f"{part.__name__} replaces no part of the reference")


def _derived(base: type[Any], **attributes: Any) -> type[Any]:
    return type(f"Mutant{base.__name__}", (base,), attributes)
